//! Dialogues that are ended from elsewhere, and their number.

use super::{Dialogue, Dialogues, Host, News, Phase};
use crate::Engine;
use xtasking::task::Spawner;
use xtasking::{Object, Plain, Priority, Runtime};

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
    let rt = Runtime::builder().workers(2).build().unwrap();
    let dialogues = Dialogues::default();
    let builder = Engine::builder().setting("maxclients", most.to_string());
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
