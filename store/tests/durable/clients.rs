//! Clients of a store that may be cut off: what they send, and what was promised to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_store::log::{Log, SyncPolicy};
use xtasking_store::resp::Requests;
use xtasking_store::session::Session;
use xtasking_testing::Random;

pub const CLIENTS: usize = 4;
const LISTS: u64 = 5;
const ACCOUNTS: u64 = 6;
const PAIRS: u64 = 3;

/// What a client does in a request, or in several.
#[derive(Clone, Debug)]
enum Action {
    /// Appends its own number, and the number of the action, to a list.
    Push { list: u64 },
    /// Moves money in a transaction.
    Transfer,
    /// Sets two keys to the same value.
    Pair,
    /// Reads what is at the end of a list.
    Read { list: u64 },
}

/// What a client has sent, and perhaps got back.
#[derive(Clone, Debug)]
struct Entry {
    number: u64,
    action: Action,
    /// The replies, and the time at which they were sent.
    replied: Option<(String, u64)>,
}

/// A session that is back, its replies, and when it came.
type Back = (Box<Session>, String, u64);

/// A client, which waits for its replies before it sends more.
struct One {
    session: Arc<Mutex<Option<Back>>>,
    entries: Vec<Entry>,
}

/// Where the element of a client's action is: list and index.
type Positions = BTreeMap<(usize, u64), (u64, usize)>;

/// All clients of a store, over all its lives.
pub struct Clients {
    all: Vec<One>,
    next: u64,
    /// That of the store, as long as they are connected.
    log: Option<Arc<Log>>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Clients {
    pub fn new() -> Self {
        let one = |_| One { session: Arc::default(), entries: Vec::new() };
        Self { all: (0..CLIENTS).map(one).collect(), next: 1, log: None }
    }

    /// Connects all clients to a store.
    pub fn connect(&mut self, engine: &Engine) {
        self.log = engine.log().cloned().map(Arc::new);
        for one in &mut self.all {
            one.session = Arc::new(Mutex::new(Some((engine.session(""), String::new(), 0))));
        }
    }

    /// Lets a client send something, if it has its replies.
    pub fn send(&mut self, rt: &Runtime, engine: &Engine, random: &mut Random, clock: &Arc<Mutex<u64>>) {
        let index = random.below(CLIENTS as u64) as usize;
        let one = &mut self.all[index];
        one.take_replies();
        let Some((session, ..)) = one.session.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let (action, requests) = draw(index, self.next, random);
        let is_read = matches!(action, Action::Read { .. });
        one.entries.push(Entry { number: self.next, action, replied: None });
        self.next += 1;
        let (back, clock) = (one.session.clone(), clock.clone());
        // Weak: the log has what waits for it.
        let log = self.log.as_ref().map(Arc::downgrade).unwrap_or_default();
        engine.submit(rt, session, requests, move |finished, _| {
            // A store that cannot log serves readers nevertheless.
            let is_sure = !is_read || log.upgrade().is_none_or(|log| log.error().is_none());
            let replies = if is_sure { text(&finished.replies) } else { "unsure".to_owned() };
            let now = *clock.lock().unwrap_or_else(PoisonError::into_inner);
            *back.lock().unwrap_or_else(PoisonError::into_inner) = Some((finished.session, replies, now));
        });
    }

    /// Takes the replies that have come.
    pub fn take_replies(&mut self) {
        self.all.iter_mut().for_each(One::take_replies);
    }

    /// Forgets the sessions, as the store has ended.
    pub fn disconnect(&mut self) {
        self.log = None;
        self.take_replies();
        for one in &mut self.all {
            *one.session.lock().unwrap_or_else(PoisonError::into_inner) = None;
            one.session = Arc::default();
        }
    }

    /// Checks what a store has that was opened on the disk. From then on it is what was promised.
    pub fn check(&mut self, client: &mut Client, policy: SyncPolicy) -> Result<(), String> {
        let mut ask = |line: &str| text(&client.run(line.split(' ')).expect("a reply"));
        let lists: Vec<_> = (0..LISTS).map(|list| bulks(&ask(&format!("LRANGE list:{list} 0 -1")))).collect();
        let money = |reply: String| reply.lines().nth(1).map_or(0, |line| line.parse::<i64>().unwrap_or(0));
        let sum: i64 = (0..ACCOUNTS).map(|account| money(ask(&format!("GET account:{account}")))).sum();
        if sum != 0 {
            return Err(format!("half a transaction: the sum is {sum}"));
        }
        for pair in 0..PAIRS {
            let (left, right) = (ask(&format!("GET left:{pair}")), ask(&format!("GET right:{pair}")));
            if left != right {
                return Err(format!("half an MSET: {left:?} and {right:?}"));
            }
        }
        let found = positions(&lists)?;
        let mut lost = Vec::new();
        for (index, one) in self.all.iter().enumerate() {
            lost.extend(one.lost(index, &found)?);
        }
        if policy == SyncPolicy::Always {
            self.check_reads(&lists)?;
        }
        self.check_known(&found)?;
        check_lost(&lost, policy)?;
        // What was found is there for good, and what was lost does not come back.
        for (index, one) in self.all.iter_mut().enumerate() {
            one.entries.retain(|entry| found.contains_key(&(index, entry.number)));
            for entry in &mut one.entries {
                let (_, at) = found[&(index, entry.number)];
                entry.replied = Some((format!(":{}\r\n", at + 1), 0));
            }
        }
        Ok(())
    }

    /// Checks that reads have shown what is durable only: lists do not become shorter.
    fn check_reads(&self, lists: &[Vec<String>]) -> Result<(), String> {
        for entry in self.all.iter().flat_map(|one| &one.entries) {
            let (Action::Read { list }, Some((reply, _))) = (&entry.action, &entry.replied) else { continue };
            let shown = reply.strip_prefix(':').map_or(0, |length| length.trim_end().parse().unwrap_or(0));
            if lists[*list as usize].len() < shown {
                return Err(format!("a read has shown {shown} elements of list {list}, which are lost"));
            }
        }
        Ok(())
    }

    /// Checks that nothing is there that was lost before.
    fn check_known(&self, found: &Positions) -> Result<(), String> {
        let known =
            |client: usize, number| self.all[client].entries.iter().any(|entry| entry.number == number);
        match found.keys().find(|(client, number)| !known(*client, *number)) {
            Some((client, number)) => Err(format!("{client}:{number} has come back")),
            None => Ok(()),
        }
    }
}

impl One {
    fn take_replies(&mut self) {
        let back = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some((_, replies, at)), Some(last)) = (&*back, self.entries.last_mut())
            && last.replied.is_none()
            && !replies.is_empty()
        {
            last.replied = Some((replies.clone(), *at));
        }
    }

    /// Checks that what is found of a client's pushes is where the replies said, and that nothing
    /// acknowledged is missing before it. Returns when what is lost was acknowledged.
    fn lost(&self, client: usize, found: &Positions) -> Result<Vec<u64>, String> {
        let mut lost = Vec::new();
        for Entry { number, action, replied } in &self.entries {
            let Action::Push { list } = action else { continue };
            let length = replied.as_ref().and_then(|(reply, at)| {
                Some((reply.strip_prefix(':')?.trim_end().parse::<usize>().ok()?, *at))
            });
            match (found.get(&(client, *number)), length) {
                (Some(&(at_list, at)), Some((length, _))) if (at_list, at + 1) != (*list, length) => {
                    return Err(format!("{client}:{number} is at {at}, and the reply was {length}"));
                }
                (Some(_), _) if !lost.is_empty() => {
                    return Err(format!("{client}:{number} is there, and one before it is lost"));
                }
                (None, Some((_, at))) => lost.push(at),
                _ => {}
            }
        }
        Ok(lost)
    }
}

/// Checks that what is lost may be lost, by the times at which it was acknowledged.
fn check_lost(lost: &[u64], policy: SyncPolicy) -> Result<(), String> {
    let (Some(first), Some(last)) = (lost.iter().min(), lost.iter().max()) else { return Ok(()) };
    match policy {
        SyncPolicy::Always => Err(format!("{} acknowledged pushes are lost", lost.len())),
        SyncPolicy::EverySecond if last - first > 1000 => {
            Err(format!("lost are pushes that were acknowledged from {first} to {last} ms"))
        }
        _ => Ok(()),
    }
}

/// Returns where each element of the lists is: list and index, by client and number.
fn positions(lists: &[Vec<String>]) -> Result<Positions, String> {
    let mut found = BTreeMap::new();
    for (list, elements) in lists.iter().enumerate() {
        for (at, element) in elements.iter().enumerate() {
            let parts = element.split_once(':').ok_or_else(|| format!("{element} was not pushed"))?;
            let key = (parts.0.parse().unwrap_or(usize::MAX), parts.1.parse().unwrap_or(0));
            if found.insert(key, (list as u64, at)).is_some() {
                return Err(format!("{element} is there twice"));
            }
        }
    }
    Ok(found)
}

/// The bulk strings of an array.
fn bulks(reply: &str) -> Vec<String> {
    let lines: Vec<&str> = reply.split("\r\n").collect();
    lines[1..].chunks(2).filter(|pair| pair.len() == 2).map(|pair| pair[1].to_owned()).collect()
}

/// Draws what a client does next.
fn draw(client: usize, number: u64, random: &mut Random) -> (Action, Requests) {
    match random.below(8) {
        0..4 => {
            let list = random.below(LISTS);
            let element = format!("{client}:{number}");
            (Action::Push { list }, Requests::one(["RPUSH", &format!("list:{list}"), &element]))
        }
        4 => {
            let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
            let mut requests = Requests::one(["MULTI"]);
            requests.push(["DECRBY", &format!("account:{from}"), &number.to_string()]);
            requests.push(["INCRBY", &format!("account:{to}"), &number.to_string()]);
            requests.push(["EXEC"]);
            (Action::Transfer, requests)
        }
        5 => {
            let pair = random.below(PAIRS);
            let value = "x".repeat(random.below(700) as usize) + &number.to_string();
            let keys = [format!("left:{pair}"), format!("right:{pair}")];
            (Action::Pair, Requests::one(["MSET", &keys[0], &value, &keys[1], &value]))
        }
        _ => {
            let list = random.below(LISTS);
            (Action::Read { list }, Requests::one(["LLEN", &format!("list:{list}")]))
        }
    }
}
