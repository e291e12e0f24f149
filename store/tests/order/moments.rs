//! Ranges beside writers are of one moment.

use super::{builder, bulks, check, run};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use xtasking::{Context, Promise};
use xtasking_store::Engine;
use xtasking_store::engine::Finished;
use xtasking_store::resp::Requests;
use xtasking_store::session::Session;
use xtasking_testing::{Random, Setting, on_each};

const PAIRS: u64 = 20;
const SESSIONS: u64 = 4;

/// A session that runs batches in tasks, and what it was answered.
struct Life {
    engine: Engine,
    rest: VecDeque<Requests>,
    replies: Arc<Mutex<Vec<Vec<u8>>>>,
    done: Promise<()>,
}

impl Life {
    fn go_on(mut self, session: Box<Session>, cx: &mut Context) {
        let Some(batch) = self.rest.pop_front() else { return self.done.fulfil(()) };
        let engine = self.engine.clone();
        engine.submit(cx, session, batch, move |finished: Finished, cx: &mut Context| {
            self.replies.lock().unwrap().push(finished.replies);
            self.go_on(finished.session, cx);
        });
    }
}

/// Renames the keys of a pair in one transaction, there or back: it fails if they are elsewhere.
fn writes(random: &mut Random) -> Requests {
    let mut requests = Requests::default();
    for _ in 0..1 + random.below(4) {
        let pair = random.below(PAIRS);
        let (from, to) = if random.percent(50) { ("left", "right") } else { ("right", "left") };
        requests.push(["MULTI"]);
        for key in ["a", "z"] {
            requests.push(["RENAME", &format!("{key}:{pair}:{from}"), &format!("{key}:{pair}:{to}")]);
        }
        requests.push(["EXEC"]);
    }
    requests
}

/// Exactly one key of each name is there, and both keys of a pair are on the same side.
fn check_moment(reply: &[u8]) {
    let keys = bulks(std::str::from_utf8(reply).expect("text"));
    assert!(keys.is_sorted() && keys.len() == 2 * PAIRS as usize, "{keys:?}");
    let keys: BTreeSet<String> = keys.into_iter().collect();
    for pair in 0..PAIRS {
        let is_there = |key: &str, side: &str| keys.contains(&format!("{key}:{pair}:{side}"));
        assert!(is_there("a", "left") != is_there("a", "right"), "{pair}: {keys:?}");
        assert_eq!(is_there("a", "left"), is_there("z", "left"), "{pair}: {keys:?}");
    }
}

#[test]
fn a_range_beside_writers_is_of_one_moment() {
    let seeds: Vec<u64> = (0..12).collect();
    on_each(Setting::simulations(&seeds).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let engine = builder().seed(setting.seed()).build(&rt);
        let mut client = engine.client();
        for pair in 0..PAIRS {
            run(&mut client, &format!("MSET a:{pair}:left 1 z:{pair}:left 1"));
        }
        let mut random = Random(setting.seed());
        let sessions: Vec<_> = (0..SESSIONS + 2)
            .map(|session| {
                let reads = session >= SESSIONS;
                let batch = |_| match reads {
                    true => Requests::one(["RANGE", "-", "+"]),
                    false => writes(&mut random),
                };
                let rest = (0..40).map(batch).collect();
                let (done, handle) = rt.promise();
                let replies = Arc::new(Mutex::new(Vec::new()));
                let life = Life { engine: engine.clone(), rest, replies: replies.clone(), done };
                rt.task(()).spawn(move |(), cx| {
                    let session = life.engine.session("");
                    life.go_on(session, cx);
                });
                (reads, replies, handle)
            })
            .collect();
        for (reads, replies, handle) in sessions {
            handle.join().unwrap();
            if reads {
                replies.lock().unwrap().iter().for_each(|reply| check_moment(reply));
            }
        }
        check(&mut client);
    });
}
