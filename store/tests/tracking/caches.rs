//! Sessions that cache what they read, beside others that change it: what is left in a cache in the
//! end is what is in the store.

use std::collections::HashMap;
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
    /// The keys of the requests under way, in order: those that were read, or none for a change.
    asked: Vec<Vec<Vec<u8>>>,
    done: Promise<(Box<Session>, Self)>,
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
                item => self.note(&asked.next().expect("one reply for each request"), item),
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

    fn note(&mut self, keys: &[Vec<u8>], item: Item) {
        let values = match item {
            Item::Many(values) => values,
            value => vec![value],
        };
        for (key, value) in keys.iter().zip(values) {
            let Item::Bulk(value) = value else { panic!("{value:?}") };
            self.cache.insert(key.clone(), value);
        }
    }

    /// Sends some requests: mostly reads.
    fn go_on(mut self, session: Box<Session>, cx: &mut Context) {
        if self.steps == 0 {
            let Self { engine, random, steps, cache, dropped, asked, done } = self;
            let (rest, handle) = cx.handle().promise();
            drop(handle);
            let reader = Self { engine, random, steps, cache, dropped, asked, done: rest };
            return done.fulfil((session, reader));
        }
        self.steps -= 1;
        let mut requests = Requests::default();
        for _ in 0..=self.random.below(3) {
            let (one, two) = (key(&mut self.random), key(&mut self.random));
            if self.random.below(8) == 0 {
                requests.push([&b"SET"[..], &one, b"own"]);
                self.asked.push(Vec::new());
            } else if self.random.below(3) == 0 {
                requests.push([&b"MGET"[..], &one, &two]);
                self.asked.push(vec![one, two]);
            } else {
                requests.push([&b"GET"[..], &one]);
                self.asked.push(vec![one]);
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

/// Changes keys, one after the other.
fn write(
    engine: Engine,
    session: Box<Session>,
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
    let requests = match random.below(4) {
        0 => Requests::one([&b"DEL"[..], &key]),
        _ => Requests::one([&b"SET"[..], &key, value.as_bytes()]),
    };
    let own = engine.clone();
    engine.submit(cx, session, requests, move |finished: Finished, cx: &mut Context| {
        write(own, finished.session, random, steps - 1, done, cx);
    });
}

fn check(setting: Setting, round: u64) -> usize {
    let rt = setting.build();
    let engine = Engine::builder().shards(2).seed(round).build(&rt);
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
        let session = engine.session("");
        rt.task(()).spawn(move |(), cx| write(engine, session, random, STEPS, done, cx));
        writers.push(handle);
    }
    writers.into_iter().for_each(|handle| handle.join().unwrap());
    let ended: Vec<_> = readers.into_iter().map(|handle| handle.join().unwrap()).collect();
    let mut client = engine.client();
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
