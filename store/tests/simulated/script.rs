//! What clients send: commands and transactions, and what their replies say.

use super::history::{Key, Op, Outcome};
use super::reply::Reply;
use xtasking_testing::Random;

pub const LISTS: [Key; 4] = ["list:0", "list:1", "list:2", "list:3"];
pub const REGISTERS: [Key; 4] = ["register:0", "register:1", "register:2", "register:3"];
pub const EXPIRING: [Key; 2] = ["expiring:0", "expiring:1"];
pub const QUEUES: [Key; 3] = ["queue:0", "queue:1", "queue:2"];

/// A command.
#[derive(Clone, Debug)]
pub enum Step {
    Append(Key, u64),
    List(Key),
    Set(Key, u64),
    /// SET with GET.
    Swap(Key, u64),
    Get(Key),
    SetAll(Vec<(Key, u64)>),
    GetAll(Vec<Key>),
    /// RENAME of a register that the transaction has read before.
    Rename(Key, Key),
    /// COPY likewise.
    Copy(Key, Key),
    /// SET of a key with a name of its own.
    Prepare(u64),
    /// RENAME of that key to a register.
    Publish(u64, Key),
    /// COPY of that key to a register.
    PublishCopy(u64, Key),
    /// DEL of that key.
    Forget(u64),
    SetFor(Key, u64, u64),
    /// SET of a register before [`Expire`](Self::Expire).
    SetToExpire(Key, u64),
    /// PEXPIRE.
    Expire(Key, u64, u64),
    GetLive(Key),
    Push(Key, u64),
    Pop(Key),
    Move(Key, Key),
    WaitPop(Vec<Key>, u64),
    WaitMove(Key, Key, u64),
    Queue(Key),
    /// A command that fails when it runs.
    Fail(Key),
    /// BGREWRITEAOF.
    Rewrite,
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

impl Step {
    /// Returns the request.
    pub fn request(&self) -> Vec<String> {
        let line = match self {
            Self::Append(key, value) | Self::Push(key, value) => format!("RPUSH {key} {value}"),
            Self::List(key) | Self::Queue(key) => format!("LRANGE {key} 0 -1"),
            Self::Set(key, value) | Self::SetToExpire(key, value) => format!("SET {key} {value}"),
            Self::Swap(key, value) => format!("SET {key} {value} GET"),
            Self::Get(key) | Self::GetLive(key) => format!("GET {key}"),
            Self::SetAll(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("{key} {value}")).collect();
                format!("MSET {}", pairs.join(" "))
            }
            Self::GetAll(keys) => format!("MGET {}", keys.join(" ")),
            Self::Rename(from, to) => format!("RENAME {from} {to}"),
            Self::Copy(from, to) => format!("COPY {from} {to} REPLACE"),
            Self::Prepare(value) => format!("SET own:{value} {value}"),
            Self::Publish(value, key) => format!("RENAME own:{value} {key}"),
            Self::PublishCopy(value, key) => format!("COPY own:{value} {key} REPLACE"),
            Self::Forget(value) => format!("DEL own:{value}"),
            Self::SetFor(key, value, ms) if value % 2 == 0 => format!("PSETEX {key} {ms} {value}"),
            Self::SetFor(key, value, ms) => format!("SET {key} {value} PX {ms}"),
            Self::Expire(key, _, ms) => format!("PEXPIRE {key} {ms}"),
            Self::Pop(key) => format!("LPOP {key}"),
            Self::Move(from, to) => format!("LMOVE {from} {to} LEFT RIGHT"),
            Self::WaitPop(keys, ms) => format!("BLPOP {} {}", keys.join(" "), seconds(*ms)),
            Self::WaitMove(from, to, ms) => format!("BLMOVE {from} {to} LEFT RIGHT {}", seconds(*ms)),
            Self::Fail(key) => format!("HGET {key} field"),
            Self::Rewrite => "BGREWRITEAOF".to_owned(),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    /// Adds what the reply says. Returns `None` if there is no such reply.
    fn note(&self, reply: &Reply, ops: &mut Vec<Op>) -> Option<()> {
        match self {
            Self::Append(key, value) => match reply {
                Reply::Integer(len) => ops.push(Op::Append(key, *value, Some(*len as u64))),
                _ => return None,
            },
            Self::Push(key, value) if matches!(reply, Reply::Integer(_)) => ops.push(Op::Push(key, *value)),
            Self::List(key) => ops.push(Op::List(key, reply.values()?)),
            Self::Queue(key) => ops.push(Op::Queue(key, reply.values()?)),
            Self::Set(key, value) if is_ok(reply) => ops.push(Op::Set(key, *value)),
            Self::Swap(key, value) => {
                ops.push(Op::Get(key, reply.value()?));
                ops.push(Op::Set(key, *value));
            }
            Self::Get(key) => ops.push(Op::Get(key, reply.value()?)),
            Self::GetLive(key) => ops.push(Op::GetLive(key, reply.value()?)),
            Self::SetAll(pairs) if is_ok(reply) => {
                ops.extend(pairs.iter().map(|&(key, value)| Op::Set(key, value)));
            }
            Self::GetAll(keys) => {
                let Reply::Array(all) = reply else { return None };
                for (key, reply) in keys.iter().zip(all) {
                    ops.push(Op::Get(key, reply.value()?));
                }
            }
            Self::Rename(from, to) | Self::Copy(from, to) => note_copy(from, to, reply, ops)?,
            Self::Publish(value, key) if is_ok(reply) => ops.push(Op::Set(key, *value)),
            Self::PublishCopy(value, key) if *reply == Reply::Integer(1) => ops.push(Op::Set(key, *value)),
            Self::SetFor(key, value, ms) if is_ok(reply) => ops.push(Op::SetFor(key, *value, *ms)),
            Self::Expire(key, value, ms) if *reply == Reply::Integer(1) => {
                ops.push(Op::SetFor(key, *value, *ms));
            }
            Self::Pop(key) => ops.extend(reply.value()?.map(|value| Op::Pop(key, value))),
            Self::Move(from, to) | Self::WaitMove(from, to, _) => {
                if let Some(value) = reply.value()? {
                    ops.extend([Op::Pop(from, value), Op::Push(to, value)]);
                }
            }
            Self::WaitPop(keys, _) => match reply {
                Reply::Null => {}
                Reply::Array(pair) => {
                    let [Reply::Bulk(name), value] = &pair[..] else { return None };
                    let key = keys.iter().find(|key| *key == name)?;
                    ops.push(Op::Pop(key, value.value()??));
                }
                _ => return None,
            },
            Self::Prepare(_) | Self::SetToExpire(..) if is_ok(reply) => {}
            Self::Forget(_) if *reply == Reply::Integer(1) => {}
            Self::Fail(_) if matches!(reply, Reply::Error(text) if text.starts_with("WRONGTYPE")) => {}
            Self::Fail(_) if *reply == Reply::Null => {}
            Self::Rewrite => {}
            _ => return None,
        }
        Some(())
    }

    /// Adds what it may have done if nothing is known of the outcome.
    fn note_unknown(&self, ops: &mut Vec<Op>) {
        match self {
            Self::Append(key, value) => ops.push(Op::Append(key, *value, None)),
            Self::Push(key, value) => ops.push(Op::Push(key, *value)),
            Self::Set(key, value) | Self::Swap(key, value) => ops.push(Op::Set(key, *value)),
            Self::Publish(value, key) | Self::PublishCopy(value, key) => ops.push(Op::Set(key, *value)),
            Self::SetAll(pairs) => ops.extend(pairs.iter().map(|&(key, value)| Op::Set(key, value))),
            Self::Rename(_, to) | Self::Copy(_, to) => ops.push(Op::MayCopy(to)),
            Self::SetFor(key, value, ms) | Self::Expire(key, value, ms) => {
                ops.push(Op::SetFor(key, *value, *ms));
            }
            Self::Pop(key) => ops.push(Op::MayPop(key)),
            Self::Move(from, to) | Self::WaitMove(from, to, _) => {
                ops.extend([Op::MayPop(from), Op::MayCopy(to)]);
            }
            Self::WaitPop(keys, _) => ops.extend(keys.iter().map(|key| Op::MayPop(key))),
            _ => {}
        }
    }
}

fn is_ok(reply: &Reply) -> bool {
    matches!(reply, Reply::Line(text) if text == "OK")
}

/// Notes that a register has got the value that the transaction has seen in another one.
fn note_copy(from: Key, to: Key, reply: &Reply, ops: &mut Vec<Op>) -> Option<()> {
    let seen = ops.iter().rev().find_map(|op| match op {
        Op::Get(key, value) if *key == from => Some(*value),
        _ => None,
    });
    match (seen?, reply) {
        (Some(value), Reply::Line(_) | Reply::Integer(1)) => ops.push(Op::Set(to, value)),
        (None, Reply::Error(_) | Reply::Integer(0)) => {}
        _ => return None,
    }
    Some(())
}

/// How commands are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One after the other.
    Single,
    /// By MULTI and EXEC.
    Transaction,
    /// By MULTI and DISCARD.
    Discarded,
    /// By MULTI and EXEC, with a command between that there is not.
    Refused,
    /// The first is a read after WATCH; when its reply is there, the rest follows by MULTI and
    /// EXEC.
    Watched(Key),
}

/// Commands that belong together.
#[derive(Clone, Debug)]
pub struct Script {
    pub form: Form,
    pub steps: Vec<Step>,
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

impl Script {
    /// Returns the requests, or the first of them.
    pub fn requests(&self) -> Vec<Vec<String>> {
        let steps = self.steps.iter().map(Step::request);
        match self.form {
            Form::Single => steps.collect(),
            Form::Watched(key) => [words(&format!("WATCH {key}"))].into_iter().chain(steps.take(1)).collect(),
            Form::Transaction => self.transaction(0, &["EXEC"]),
            Form::Discarded => self.transaction(0, &["DISCARD"]),
            Form::Refused => self.transaction(0, &["NOSUCHCOMMAND", "EXEC"]),
        }
    }

    /// Returns the requests that come when the first have their replies.
    pub fn further_requests(&self) -> Vec<Vec<String>> {
        match self.form {
            Form::Watched(_) => self.transaction(1, &["EXEC"]),
            _ => Vec::new(),
        }
    }

    fn transaction(&self, from: usize, end: &[&str]) -> Vec<Vec<String>> {
        let steps = self.steps[from..].iter().map(Step::request);
        let end = end.iter().map(|word| vec![(*word).to_owned()]);
        [words("MULTI")].into_iter().chain(steps).chain(end).collect()
    }

    /// Returns what all replies say: the outcome, and what was done and seen.
    pub fn outcome(&self, replies: &[Reply]) -> Result<(Outcome, Vec<Op>), String> {
        let unexpected = || format!("{self:?} has got {replies:?}");
        let mut ops = Vec::new();
        let (is_done, results): (_, &[Reply]) = match (self.form, replies.last()) {
            _ if replies.iter().any(Reply::is_unlogged) && !self.was_refused(replies) => (false, &[]),
            (Form::Single, _) => (true, replies),
            (Form::Discarded, Some(reply)) if is_ok(reply) => return Ok((Outcome::Failed, self.unknown())),
            (_, Some(Reply::Error(text))) if text.starts_with("EXECABORT") => {
                return Ok((Outcome::Failed, self.unknown()));
            }
            (Form::Watched(_), Some(Reply::Null)) => return Ok((Outcome::Failed, self.unknown())),
            (Form::Transaction, Some(Reply::Array(all))) => (true, all),
            (Form::Watched(_), Some(Reply::Array(all))) => {
                self.steps[0].note(&replies[1], &mut ops).ok_or_else(unexpected)?;
                for (step, reply) in self.steps[1..].iter().zip(all) {
                    step.note(reply, &mut ops).ok_or_else(unexpected)?;
                }
                return Ok((Outcome::Done, ops));
            }
            _ => return Err(unexpected()),
        };
        if !is_done {
            return Ok((Outcome::Unknown, self.unknown()));
        }
        if results.len() != self.steps.len() {
            return Err(unexpected());
        }
        for (step, reply) in self.steps.iter().zip(results) {
            step.note(reply, &mut ops).ok_or_else(unexpected)?;
        }
        Ok((Outcome::Done, ops))
    }

    /// Returns true if EXEC has said that nothing was done, or it was discarded.
    fn was_refused(&self, replies: &[Reply]) -> bool {
        match replies.last() {
            Some(Reply::Error(text)) => text.starts_with("EXECABORT"),
            reply => self.form == Form::Discarded && reply.is_some_and(is_ok),
        }
    }

    /// Returns what it may have done.
    pub fn unknown(&self) -> Vec<Op> {
        let mut ops = Vec::new();
        self.steps.iter().for_each(|step| step.note_unknown(&mut ops));
        ops
    }

    /// Returns the outcome if the connection is lost with these replies.
    pub fn outcome_if_lost(&self, replies: usize) -> Outcome {
        match self.form {
            Form::Discarded | Form::Refused => Outcome::Failed,
            // EXEC was not sent.
            Form::Watched(_) if replies < 2 => Outcome::Failed,
            _ => Outcome::Unknown,
        }
    }

    /// Draws a script. `value` returns values that were not there before.
    pub fn draw(random: &mut Random, value: &mut impl FnMut() -> u64) -> Self {
        let mut of = |keys: &[Key]| keys[random.below(keys.len() as u64) as usize];
        let (list, other_list, register, queue) = (of(&LISTS), of(&LISTS), of(&REGISTERS), of(&QUEUES));
        let expiring = of(&EXPIRING);
        // Values go to registers and queues with higher numbers only: so they come to each once.
        let lower = random.below(REGISTERS.len() as u64 - 1) as usize;
        let higher = lower + 1 + random.below((REGISTERS.len() - 1 - lower) as u64) as usize;
        let (from, to) = (REGISTERS[lower], REGISTERS[higher]);
        let lower = random.below(QUEUES.len() as u64 - 1) as usize;
        let higher = lower + 1 + random.below((QUEUES.len() - 1 - lower) as u64) as usize;
        let (source, target) = (QUEUES[lower], QUEUES[higher]);
        let ms = 5 + random.below(60);
        let single = |step| (Form::Single, vec![step]);
        let transaction = |steps| (Form::Transaction, steps);
        let (form, steps) = match random.below(48) {
            0..3 => single(Step::Append(list, value())),
            3 => single(Step::List(list)),
            4..10 => {
                let mut steps = Vec::new();
                for _ in 0..2 + random.below(4) {
                    let list = LISTS[random.below(LISTS.len() as u64) as usize];
                    let is_write = random.below(2) == 0;
                    steps.push(if is_write { Step::Append(list, value()) } else { Step::List(list) });
                }
                transaction(steps)
            }
            10 | 11 => (Form::Watched(list), vec![Step::List(list), Step::Append(list, value())]),
            12 | 13 => (Form::Watched(register), vec![Step::Get(register), Step::Set(register, value())]),
            14 => {
                // What is written depends on a key that is not.
                let steps = vec![Step::List(list), Step::Append(other_list, value())];
                (Form::Watched(list), steps)
            }
            39 if random.below(2) == 0 => {
                (Form::Watched(queue), vec![Step::Queue(queue), Step::Push(queue, value())])
            }
            15 => (Form::Discarded, vec![Step::Append(list, value()), Step::Set(register, value())]),
            16 => (Form::Refused, vec![Step::Append(list, value()), Step::Push(queue, value())]),
            17 => {
                transaction(vec![Step::Append(list, value()), Step::Fail(list), Step::Set(register, value())])
            }
            18 => single(Step::Set(register, value())),
            19 | 20 => single(Step::Swap(register, value())),
            21 => single(Step::Get(register)),
            22 | 23 => single(Step::SetAll(vec![(from, value()), (to, value())])),
            24 | 25 => single(Step::GetAll(REGISTERS.to_vec())),
            26 => {
                let writes = Step::SetAll(vec![(to, value()), (from, value())]);
                transaction(vec![Step::GetAll(vec![from, to]), writes, Step::Swap(from, value())])
            }
            27 => {
                let steps =
                    vec![Step::Get(from), Step::Get(to), Step::Rename(from, to), Step::Set(from, value())];
                transaction(steps)
            }
            28 => {
                let steps =
                    vec![Step::Get(from), Step::Get(to), Step::Copy(from, to), Step::Set(from, value())];
                transaction(steps)
            }
            29 => {
                let value = value();
                (Form::Single, vec![Step::Prepare(value), Step::Publish(value, register)])
            }
            30 => {
                let value = value();
                let steps =
                    vec![Step::Prepare(value), Step::PublishCopy(value, register), Step::Forget(value)];
                (Form::Single, steps)
            }
            31 => single(Step::SetFor(expiring, value(), ms)),
            32 => {
                let value = value();
                let steps = vec![
                    Step::GetLive(expiring),
                    Step::SetToExpire(expiring, value),
                    Step::Expire(expiring, value, ms),
                ];
                transaction(steps)
            }
            33 => single(Step::GetLive(expiring)),
            34 => single(Step::Push(queue, value())),
            35 => transaction(vec![
                Step::Push(source, value()),
                Step::Queue(source),
                Step::Move(source, target),
            ]),
            36 => single(Step::Move(source, target)),
            37 => single(Step::Pop(queue)),
            // More is taken than pushed, so that many have to wait.
            40..44 => single(Step::WaitPop(vec![source, target], ms)),
            44..48 => single(Step::WaitMove(source, target, ms)),
            38 => transaction(vec![Step::Queue(source), Step::Queue(target), Step::Move(source, target)]),
            _ if random.below(3) == 0 => single(Step::Rewrite),
            _ => transaction(vec![Step::Append(list, value()), Step::Push(queue, value()), Step::List(list)]),
        };
        Self { form, steps }
    }
}
