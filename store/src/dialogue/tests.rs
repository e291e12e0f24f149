//! Dialogues that are ended from elsewhere, and their number.

use super::{Dialogue, Dialogues, Host, News, Phase};
use crate::Engine;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::task::Spawner;
use xtasking::{Object, Plain, Priority, Runtime};
use xtasking_testing::{eventually, watchdog};

struct Carrier {
    dialogue: Dialogue,
    output: Vec<u8>,
}

#[derive(Clone)]
struct Place(Object<Plain<Carrier>>);

impl Host for Place {
    fn bring<S: Spawner>(&self, spawner: S, news: News) {
        spawner.task(self.0.write()).priority(Priority::Normal).spawn(move |carrier, cx| {
            carrier.dialogue.take(news, &mut carrier.output, 0, cx);
        });
    }
}

fn begin(most: u32) -> (Runtime, Dialogues, Engine) {
    begin_at(most, Arc::default())
}

/// Starts an engine with a clock, in ms.
fn begin_at(most: u32, clock: Arc<AtomicU64>) -> (Runtime, Dialogues, Engine) {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let dialogues = Dialogues::default();
    let builder = Engine::builder().setting("maxclients", most.to_string());
    let builder = builder.clock(move || clock.load(Ordering::Relaxed));
    let engine = dialogues.attach(builder, &rt).build(&rt);
    (rt, dialogues, engine)
}

impl Place {
    fn new(rt: &Runtime, dialogue: Dialogue) -> Self {
        Self(rt.plain(Carrier { dialogue, output: Vec::new() }).build())
    }

    /// Returns what was replied to requests until now.
    fn ask(&self, rt: &Runtime, requests: String) -> String {
        let this = self.clone();
        let replies = rt.task(self.0.write()).submit(move |carrier, cx| {
            carrier.dialogue.input().extend_from_slice(requests.as_bytes());
            carrier.dialogue.run(&this, &mut carrier.output, 0, cx);
            std::mem::take(&mut carrier.output)
        });
        String::from_utf8(replies.join().unwrap()).unwrap()
    }

    fn is_busy(&self, rt: &Runtime) -> bool {
        rt.task(self.0.read()).submit(|carrier, _cx| carrier.dialogue.is_busy()).join().unwrap()
    }

    fn phase(&self, rt: &Runtime) -> Phase {
        rt.task(self.0.read()).submit(|carrier, _cx| carrier.dialogue.phase()).join().unwrap()
    }

    fn close(&self, rt: &Runtime) {
        rt.task(self.0.write()).submit(|carrier, cx| carrier.dialogue.close(cx)).join().unwrap();
    }
}

#[test]
fn a_kill_before_there_is_a_host_ends_the_dialogue() {
    let (rt, dialogues, engine) = begin(10);
    let [early, other] = [0, 1].map(|_| dialogues.open(&engine, "a pipe", "").unwrap());
    let (id, other_id) = (early.id(), other.id());
    let (early, other) = (Place::new(&rt, early), Place::new(&rt, other));
    dialogues.insert(&rt, other_id, other.clone());
    assert_eq!(other.ask(&rt, format!("CLIENT KILL ID {id}\r\n")), ":1\r\n");
    dialogues.insert(&rt, id, early.clone());
    assert_eq!([early.phase(&rt), other.phase(&rt)], [Phase::Broken, Phase::Open]);
    for (place, id) in [(early, id), (other, other_id)] {
        place.close(&rt);
        dialogues.remove(id);
    }
}

#[test]
fn no_message_follows_the_last_reply() {
    let (rt, dialogues, engine) = begin(10);
    let dialogue = dialogues.open(&engine, "a pipe", "").unwrap();
    let id = dialogue.id();
    let place = Place::new(&rt, dialogue);
    dialogues.insert(&rt, id, place.clone());
    let replies = place.ask(&rt, "HELLO 3\r\nSUBSCRIBE c\r\nPUBLISH c x\r\nQUIT\r\n".to_string());
    assert!(replies.ends_with(":1\r\n+OK\r\n"), "{replies}");
    assert_eq!(place.phase(&rt), Phase::Ending);
    place.close(&rt);
    dialogues.remove(id);
}

#[test]
fn a_client_that_waits_or_listens_is_not_idle() {
    let _watched = watchdog();
    let clock = Arc::new(AtomicU64::new(1000));
    let (rt, dialogues, engine) = begin_at(10, clock.clone());
    let places = ["BLPOP q 0", "SUBSCRIBE c", "MONITOR", "PING"].map(|request| {
        let dialogue = dialogues.open(&engine, "a pipe", "").unwrap();
        let id = dialogue.id();
        let place = Place::new(&rt, dialogue);
        dialogues.insert(&rt, id, place.clone());
        place.ask(&rt, format!("{request}\r\n"));
        (place, id)
    });
    clock.store(100_000, Ordering::Relaxed);
    assert_eq!(engine.client().run(["LPUSH", "q", "v"]).unwrap(), b":1\r\n");
    eventually("the wait is over", || !places[0].0.is_busy(&rt));
    dialogues.end_idle(&rt, 70_000);
    let phases = [0, 1, 2, 3].map(|at| places[at].0.phase(&rt));
    assert_eq!(phases, [Phase::Open, Phase::Open, Phase::Open, Phase::Broken]);
    for (place, id) in places {
        place.close(&rt);
        dialogues.remove(id);
    }
}

#[test]
fn a_dialogue_that_comes_at_the_end_ends_and_is_not_awaited() {
    let _watched = watchdog();
    let (rt, dialogues, engine) = begin(10);
    let first = dialogues.open(&engine, "a pipe", "").unwrap();
    let first_id = first.id();
    let first = Place::new(&rt, first);
    dialogues.insert(&rt, first_id, first.clone());
    let ended = dialogues.finish(&rt);
    let second = dialogues.open(&engine, "a pipe", "").unwrap();
    let second_id = second.id();
    let second = Place::new(&rt, second);
    dialogues.insert(&rt, second_id, second.clone());
    assert_eq!([first.phase(&rt), second.phase(&rt)], [Phase::Ending, Phase::Ending]);
    assert!(!ended.is_finished());
    first.close(&rt);
    dialogues.remove(first_id);
    ended.join().unwrap();
    second.close(&rt);
    dialogues.remove(second_id);
}

/// The requests after long replies run when those are sent.
#[test]
fn replies_are_made_as_they_are_sent() {
    const GETS: usize = 20;
    let _watched = watchdog();
    let (rt, dialogues, engine) = begin(10);
    let dialogue = dialogues.open(&engine, "a pipe", "").unwrap();
    let id = dialogue.id();
    let place = Place::new(&rt, dialogue);
    dialogues.insert(&rt, id, place.clone());
    let value = "x".repeat(2 << 20);
    assert_eq!(place.ask(&rt, format!("SET k {value}\r\n")), "+OK\r\n");
    let reply = format!("${}\r\n{value}\r\n", value.len());
    let mut replies = place.ask(&rt, "GET k\r\n".repeat(GETS));
    for _ in 1..GETS {
        assert_eq!(replies, reply);
        let this = place.clone();
        let more = rt.task(place.0.write()).submit(move |carrier, cx| {
            // Nothing more comes until some was sent.
            let unsent = 2 << 20;
            assert!(!carrier.dialogue.wants_run(unsent) && carrier.dialogue.is_busy());
            carrier.dialogue.run(&this, &mut carrier.output, unsent, cx);
            assert!(carrier.output.is_empty() && carrier.dialogue.wants_run(0));
            carrier.dialogue.run(&this, &mut carrier.output, 0, cx);
            std::mem::take(&mut carrier.output)
        });
        replies = String::from_utf8(more.join().unwrap()).unwrap();
    }
    assert_eq!(replies, reply);
    assert_eq!(place.ask(&rt, "PING\r\n".to_owned()), "+PONG\r\n");
    place.close(&rt);
    dialogues.remove(id);
}

#[test]
fn a_removal_counts_once() {
    let (rt, dialogues, engine) = begin(1);
    let first = dialogues.open(&engine, "a pipe", "").unwrap();
    assert!(dialogues.open(&engine, "a pipe", "").is_none());
    let id = first.id();
    Place::new(&rt, first).close(&rt);
    dialogues.remove(id);
    dialogues.remove(id);
    let second = dialogues.open(&engine, "a pipe", "").unwrap();
    assert!(dialogues.open(&engine, "a pipe", "").is_none());
    let id = second.id();
    Place::new(&rt, second).close(&rt);
    dialogues.remove(id);
}
