//! Spans for the crate `tracing`: one for each run of a task, entered while it runs.

use crate::common::{Setting, lock, silence_tasks, watchdog};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use xtasking::{Context, Shutdown, primitive::Sequencing};

/// Records all spans, with their fields, and each call on them.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Subscriber for Noting {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "xtasking"
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(span.metadata().name().into());
        span.record(&mut fields);
        let mut noted = lock(&self.0);
        noted.push(fields.0);
        Id::from_u64(noted.len() as u64)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {
        lock(&self.0).push("enter".into());
    }
    fn exit(&self, _: &Id) {
        lock(&self.0).push("exit".into());
    }
}

fn a_task(_: &mut u64, cx: &mut Context) {
    cx.task(()).core(1).spawn(|(), _| panic!("provoked"));
}

#[test]
fn each_task_has_a_span_that_is_left_whatever_happens() {
    let _watched = watchdog();
    silence_tasks();
    for on in [true, false] {
        let noting = Noting::default();
        // A simulation runs on the thread that waits, which has the subscriber.
        tracing::subscriber::with_default(noting.clone(), || {
            let builder = Setting::Simulation { cores: 2, seed: 5 }.builder();
            let rt = builder.tracing(on).on_failure(drop).build().unwrap();
            let object = rt.plain(0u64).pin(Sequencing).build();
            rt.task(object.write()).spawn(a_task);
            let touched = format!("writes u64 at {:#x} (Sequencing)", object.address());
            rt.shutdown(Shutdown::Drain);
            if !on {
                return;
            }
            let noted = lock(&noting.0);
            let first = format!("task task=\"reports::spans::a_task\" worker=0 objects={touched}");
            let second = "task task=\"reports::spans::a_task::{{closure}}\" worker=1 objects=";
            assert_eq!(*noted, [&*first, "enter", "exit", second, "enter", "exit"]);
        });
        assert!(on || lock(&noting.0).is_empty());
    }
}
