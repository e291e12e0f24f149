//! Sessions that cache what they read, beside others that change it: what is left in a cache in the
//! end is what is in the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::{Context, Promise};
use xtasking_store::Engine;
use xtasking_store::engine::Finished;
use xtasking_store::resp::Requests;
use xtasking_store::session::Session;
use xtasking_testing::{Random, Setting, on_each};

const KEYS: u64 = 3;
const READERS: u64 = 3;
const WRITERS: u64 = 2;
const STEPS: usize = 12;

/// A session with its cache.
struct Reader {
    engine: Engine,
    random: Random,
    steps: usize,
    /// `None` for a key that was missing.
    cache: HashMap<Vec<u8>, Option<Vec<u8>>>,
    dropped: usize,
    /// Whether it tracks keys once the requests under way have run.
    tracks: bool,
    /// What the replies to the requests under way are to be taken for.
    asked: Vec<Asked>,
    done: Promise<(Box<Session>, Self)>,
}

/// A request under way.
#[derive(Debug, PartialEq)]
enum Asked {
    /// Its reply says nothing of keys.
    Other,
    /// It reads keys.
    Read(Vec<Vec<u8>>),
    /// A transaction.
    Exec(Vec<Self>),
    /// The session does not track from here on.
    End,
}

/// A reply, or a message.
#[derive(Debug)]
enum Item {
    Simple,
    Bulk(Option<Vec<u8>>),
    Many(Vec<Self>),
    Push(Vec<Self>),
}

fn take_item(bytes: &mut &[u8]) -> Item {
    let end = bytes.iter().position(|byte| *byte == b'\n').expect("a whole line");
    let (line, rest) = bytes.split_at(end + 1);
    *bytes = rest;
    let number = || std::str::from_utf8(line[1..].trim_ascii()).unwrap().parse::<usize>().unwrap();
    let many = |bytes: &mut &[u8]| (0..number()).map(|_| take_item(bytes)).collect();
    match line[0] {
        b'_' => Item::Bulk(None),
        b'$' => {
            let (bulk, rest) = bytes.split_at(number());
            *bytes = &rest[2..];
            Item::Bulk(Some(bulk.to_vec()))
        }
        b'*' => Item::Many(many(bytes)),
        b'>' => Item::Push(many(bytes)),
        _ => Item::Simple,
    }
}

fn key(random: &mut Random) -> Vec<u8> {
    random.below(KEYS).to_string().into_bytes()
}

impl Reader {
    /// Takes replies and messages in the order in which they came.
    fn take(&mut self, mut bytes: &[u8]) {
        let mut asked = std::mem::take(&mut self.asked).into_iter();
        while !bytes.is_empty() {
            match take_item(&mut bytes) {
                Item::Push(message) => self.drop_from_cache(&message),
                item => self.note(asked.next().expect("one reply for each request"), item),
            }
        }
        assert_eq!(asked.next(), None, "one reply for each request");
    }

    fn drop_from_cache(&mut self, message: &[Item]) {
        let [Item::Bulk(_), Item::Many(keys)] = message else { panic!("{message:?}") };
        for key in keys {
            let Item::Bulk(Some(key)) = key else { panic!("{key:?}") };
            self.cache.remove(key);
            self.dropped += 1;
        }
    }

    fn note(&mut self, asked: Asked, item: Item) {
        match (asked, item) {
            (Asked::Other, _) => {}
            (Asked::End, _) => self.cache.clear(),
            (Asked::Exec(asked), Item::Many(items)) => {
                assert_eq!(asked.len(), items.len());
                asked.into_iter().zip(items).for_each(|(asked, item)| self.note(asked, item));
            }
            (Asked::Read(keys), item) => {
                let values = match item {
                    Item::Many(values) => values,
                    value => vec![value],
                };
                for (key, value) in keys.into_iter().zip(values) {
                    let Item::Bulk(value) = value else { panic!("{value:?}") };
                    self.cache.insert(key, value);
                }
            }
            (asked, item) => panic!("{asked:?} {item:?}"),
        }
    }

    /// Adds a request that reads keys, or changes one.
    fn ask(&mut self, requests: &mut Requests) -> Asked {
        let (one, two) = (key(&mut self.random), key(&mut self.random));
        let keys = if self.random.below(6) == 0 {
            requests.push([&b"SET"[..], &one, b"own"]);
            return Asked::Other;
        } else if self.random.below(3) == 0 {
            requests.push([&b"MGET"[..], &one, &two]);
            vec![one, two]
        } else {
            requests.push([&b"GET"[..], &one]);
            vec![one]
        };
        // What it reads without tracking must not stay.
        if self.tracks { Asked::Read(keys) } else { Asked::Other }
    }

    /// Sends some requests: mostly reads.
    fn go_on(mut self, session: Box<Session>, cx: &mut Context) {
        if self.steps == 0 {
            let Self { engine, random, steps, cache, dropped, tracks, asked, done } = self;
            let (rest, handle) = cx.handle().promise();
            drop(handle);
            let reader = Self { engine, random, steps, cache, dropped, tracks, asked, done: rest };
            return done.fulfil((session, reader));
        }
        self.steps -= 1;
        let mut requests = Requests::default();
        for _ in 0..=self.random.below(3) {
            match self.random.below(12) {
                0 => {
                    let (word, asked) = if self.tracks { ("OFF", Asked::End) } else { ("ON", Asked::Other) };
                    requests.push(["CLIENT", "TRACKING", word]);
                    self.asked.push(asked);
                    self.tracks = !self.tracks;
                }
                1 | 2 => {
                    requests.push(["MULTI"]);
                    let queued: Vec<_> = (0..3).map(|_| self.ask(&mut requests)).collect();
                    requests.push(["EXEC"]);
                    // MULTI, and that each was queued.
                    self.asked.extend((0..=queued.len()).map(|_| Asked::Other));
                    self.asked.push(Asked::Exec(queued));
                }
                _ => {
                    let asked = self.ask(&mut requests);
                    self.asked.push(asked);
                }
            }
        }
        let engine = self.engine.clone();
        engine.submit(cx, session, requests, move |finished: Finished, cx: &mut Context| {
            let Finished { mut session, replies, .. } = finished;
            self.take(&replies);
            self.take(&session.take_messages());
            self.go_on(session, cx);
        });
    }
}

/// Changes keys, one after the other. Time goes on with each.
fn write(
    engine: Engine,
    session: Box<Session>,
    now: Arc<AtomicU64>,
    mut random: Random,
    steps: usize,
    done: Promise<()>,
    cx: &mut Context,
) {
    if steps == 0 {
        engine.close(cx, session);
        return done.fulfil(());
    }
    let (key, value) = (key(&mut random), random.below(1 << 40).to_string());
    now.fetch_add(1, Ordering::Relaxed);
    let requests = match random.below(5) {
        0 => Requests::one([&b"DEL"[..], &key]),
        1 => Requests::one([&b"SET"[..], &key, value.as_bytes(), b"PX", b"3"]),
        _ => Requests::one([&b"SET"[..], &key, value.as_bytes()]),
    };
    let own = engine.clone();
    engine.submit(cx, session, requests, move |finished: Finished, cx: &mut Context| {
        write(own, finished.session, now, random, steps - 1, done, cx);
    });
}

fn check(setting: Setting, round: u64) -> usize {
    let rt = setting.build();
    let now = Arc::new(AtomicU64::new(1000));
    let clock = now.clone();
    let clock = move || clock.load(Ordering::Relaxed);
    let engine = Engine::builder().shards(2).seed(round).clock(clock).build(&rt);
    let random = |number: u64| Random(setting.seed() ^ round << 32 ^ number);
    let mut readers = Vec::new();
    for number in 0..READERS {
        let (done, handle) = rt.promise();
        let (engine, random) = (engine.clone(), random(number));
        let reader = Reader {
            engine: engine.clone(),
            random,
            steps: STEPS,
            cache: HashMap::new(),
            dropped: 0,
            tracks: true,
            asked: Vec::new(),
            done,
        };
        let mut begin = Requests::one(["HELLO", "3"]);
        begin.push(["CLIENT", "TRACKING", "ON"]);
        let session = engine.session("");
        engine.submit(&rt, session, begin, move |finished: Finished, cx: &mut Context| {
            reader.go_on(finished.session, cx);
        });
        readers.push(handle);
    }
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let (done, handle) = rt.promise();
        let (engine, random) = (engine.clone(), random(READERS + number));
        let (session, now) = (engine.session(""), now.clone());
        rt.task(()).spawn(move |(), cx| write(engine, session, now, random, STEPS, done, cx));
        writers.push(handle);
    }
    writers.into_iter().for_each(|handle| handle.join().unwrap());
    let ended: Vec<_> = readers.into_iter().map(|handle| handle.join().unwrap()).collect();
    let mut client = engine.client();
    // Values that have expired stay in caches until a command that writes meets them.
    for key in 0..KEYS {
        client.run(["PERSIST", &key.to_string()]).unwrap();
    }
    let mut dropped = 0;
    for (mut session, mut reader) in ended {
        reader.take(&session.take_messages());
        dropped += reader.dropped;
        for (key, cached) in &reader.cache {
            let reply = client.run([&b"GET"[..], key]).unwrap();
            let mut now = match &*reply {
                b"$-1\r\n" => None,
                bytes => match take_item(&mut &bytes[..]) {
                    Item::Bulk(value) => value,
                    item => panic!("{item:?}"),
                },
            };
            let shown = String::from_utf8_lossy(key).into_owned();
            assert_eq!(*cached, now.take(), "the key {shown} in round {round} on {setting:?}");
        }
        engine.close(&rt, session);
    }
    dropped
}

#[test]
fn caches_have_the_last_values_once_all_messages_have_come() {
    let settings = || Setting::threads().chain(Setting::simulations(&[1, 2, 3, 4, 5]));
    on_each(settings(), |setting| {
        let dropped: usize = (0..20).map(|round| check(setting, round)).sum();
        assert!(dropped > 20, "there were changes to hear of: {dropped}");
    });
}
