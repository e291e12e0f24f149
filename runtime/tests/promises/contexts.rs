//! The context belongs to the worker: a body borrows it while it runs, and user code cannot create
//! one.
//!
//! refused kept: error[E0277]: `NonNull<fork::stack::memory::StackMemory>` cannot be sent
//!     between threads safely
//! refused returned: error[E0277]: `NonNull<fork::stack::memory::StackMemory>` cannot be sent
//!     between threads safely
//! refused thread: error[E0277]: `NonNull<fork::stack::memory::StackMemory>` cannot be sent
//!     between threads safely
//! refused local: error[E0521]: borrowed data escapes outside of closure
//! refused builder: error[E0277]: `NonNull<fork::stack::memory::StackMemory>` cannot be sent
//!     between threads safely
//! refused made: error[E0624]: associated function `of` is private
//! refused built: error[E0451]: field `worker` of struct `xtasking::Context` is private
//! refused copied: error[E0599]: no method named `clone` found for mutable reference `&mut
//!     xtasking::Context`

use std::sync::mpsc::channel;
use xtasking::{Context, Runtime};

fn main() {
    let rt = Runtime::new().unwrap();

    let (kept, _all) = channel();
    rt.task(()).spawn(move |(), cx| {
        #[cfg(refused = "kept")]
        kept.send(cx).unwrap();
        #[cfg(not(refused = "kept"))]
        kept.send(cx.worker()).unwrap();
    });
    #[cfg(refused = "returned")]
    rt.task(()).submit(|(), cx| cx);
    #[cfg(not(refused = "returned"))]
    let _handle = rt.task(()).submit(|(), cx| cx.worker());
    rt.task(()).spawn(|(), cx| {
        #[cfg(refused = "thread")]
        let moved = cx;
        #[cfg(not(refused = "thread"))]
        let moved = cx.worker();
        std::thread::spawn(move || drop(moved));
    });
    rt.task(()).spawn(|(), cx: &mut Context| {
        #[cfg(refused = "made")]
        let second = Context::of(unreachable!());
        #[cfg(refused = "built")]
        let second = &mut Context { worker: unreachable!() };
        #[cfg(refused = "copied")]
        let second = cx.clone();
        #[cfg(not(any(refused = "made", refused = "built", refused = "copied")))]
        let second = cx;
        assert_eq!(second.workers(), 1);
    });
    rt.task(()).spawn(|(), cx| {
        thread_local! {
            static KEPT: std::cell::Cell<Option<&'static mut Context>> =
                const { std::cell::Cell::new(None) };
        }
        #[cfg(refused = "local")]
        KEPT.set(Some(cx));
        #[cfg(not(refused = "local"))]
        KEPT.set((cx.workers() == 0).then(|| unreachable!("a runtime has workers")));
    });
    #[cfg(refused = "builder")]
    rt.task(()).submit(|(), cx| cx.task(()));
    #[cfg(not(refused = "builder"))]
    let _handle = rt.task(()).submit(|(), cx| cx.task(()).spawn(|(), _cx| {}));
}
