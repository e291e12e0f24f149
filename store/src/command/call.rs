//! A command under way.

use super::{Command, CommandError, Effects, EventClass};
use crate::keyspace::Keys;
use crate::resp::{Args, Reply, parse_double, parse_integer};
use crate::server::Server;
use crate::session::Session;
use crate::value::{Stream, StreamId, ValueRef};

/// What the function of a command returns. An error becomes the reply.
pub type CommandResult = Result<Outcome, CommandError>;

/// How a command ended.
#[derive(Debug)]
pub enum Outcome {
    /// It has written its reply.
    Done,
    /// It found nothing, wrote nothing, and waits for keys.
    Block(Block),
}

/// What a command waits for. It runs again when one of the keys has changed, with
/// [`Call::ready`] set, and may wait again; then it keeps its place before later ones.
#[derive(Debug)]
pub struct Block {
    /// The keys that it waits for.
    pub keys: Vec<Box<[u8]>>,
    /// Keys besides the changed one that it accesses when it runs again, as the destination of
    /// BLMOVE.
    pub others: Vec<Box<[u8]>>,
    /// When to give up, in ms since 1970; `None` to wait for ever.
    pub deadline: Option<u64>,
    /// The reply if it does not get anything.
    pub null: NullReply,
    /// Whether it also runs again when one of the keys is removed.
    pub heeds_removal: bool,
    /// What a key has to have before it runs again.
    pub condition: WakeCondition,
}

/// What a blocked command waits for at its keys. It does not run again before, as it would only
/// wait again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WakeCondition {
    /// Any value.
    #[default]
    Value,
    /// A list.
    List,
    /// A sorted set.
    SortedSet,
    /// Entries of a stream after these: one for each key. A key may be there several times; then
    /// the least of its IDs counts.
    Entries(Vec<StreamId>),
    /// Entries of a stream that this group has not read, or the end of the group or the stream.
    GroupEntries(Box<[u8]>),
}

impl WakeCondition {
    /// Returns true if a command gets something that waits for these keys, given the value that one
    /// of them has now; or if its wait is over without it.
    pub(crate) fn is_met(&self, keys: &[Box<[u8]>], key: &[u8], value: Option<ValueRef<'_>>) -> bool {
        let stream = || value.and_then(|value| value.as_stream().ok());
        let has_after = |stream: &Stream, after| {
            // The ID of the last one that was added is at hand; it may have been deleted.
            let log = stream.log();
            log.state().last_id > after && log.last().is_some_and(|last| last > after)
        };
        match self {
            Self::Value => true,
            Self::List => value.is_some_and(|value| value.as_list().is_ok()),
            Self::SortedSet => value.is_some_and(|value| value.as_sorted_set().is_ok()),
            Self::Entries(after) => {
                let own = keys.iter().zip(after).filter(|(other, _)| ***other == *key);
                own.map(|(_, after)| *after)
                    .min()
                    .zip(stream())
                    .is_some_and(|(after, stream)| has_after(stream, after))
            }
            Self::GroupEntries(name) => {
                let group = stream().and_then(|stream| Some((stream, stream.group(name)?)));
                group.is_none_or(|(stream, group)| has_after(stream, group.last_id))
            }
        }
    }
}

/// What a command writes in place of its reply: in a transaction, where it cannot wait, and at its
/// deadline, where both nulls are that of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullReply {
    /// In place of a bulk string.
    Bulk,
    /// In place of an array.
    Array,
    /// No null: the command has only waited for the time.
    Ok,
    /// The number of what has come meanwhile: nothing.
    Zero,
}

/// A command under way: its arguments, what it may access, and where its reply goes.
#[derive(Debug)]
pub struct Call<'a, 'v> {
    /// The command.
    pub command: &'static Command,
    /// The arguments, the command's name first; for a subcommand the container's before its own.
    pub args: Args<'a>,
    /// The keys that it may access, in the session's database.
    pub keys: &'a mut Keys<'v>,
    /// Where the reply is written.
    pub reply: &'a mut Reply,
    /// The state of the connection.
    pub session: &'a mut Session,
    /// What all connections share.
    pub server: &'a Server,
    /// What it changed.
    pub effects: &'a mut Effects,
    /// The key for which a blocked command runs again; it looks at no other of those it waits for.
    pub ready: Option<&'a [u8]>,
    /// Whether EXEC runs it.
    pub is_queued: bool,
}

impl Call<'_, '_> {
    /// Returns the outcome of a command that has written its reply.
    pub fn done(&self) -> CommandResult {
        Ok(Outcome::Done)
    }

    /// Writes `OK`.
    ///
    /// # Errors
    ///
    /// None: it returns the outcome of a command.
    pub fn ok(&mut self) -> CommandResult {
        self.reply.ok();
        Ok(Outcome::Done)
    }

    /// Writes an integer.
    ///
    /// # Errors
    ///
    /// None: it returns the outcome of a command.
    pub fn integer(&mut self, value: i64) -> CommandResult {
        self.reply.integer(value);
        Ok(Outcome::Done)
    }

    /// Writes a number of things.
    ///
    /// # Errors
    ///
    /// None: it returns the outcome of a command.
    pub fn count(&mut self, value: usize) -> CommandResult {
        self.reply.count(value);
        Ok(Outcome::Done)
    }

    /// Returns the time in ms since 1970. It is the same for the whole command.
    pub fn now(&self) -> u64 {
        self.keys.now()
    }

    /// Reads an argument as an integer.
    ///
    /// # Errors
    ///
    /// [`CommandError::NOT_AN_INTEGER`].
    pub fn integer_arg(&self, index: usize) -> Result<i64, CommandError> {
        parse_integer(self.args.at(index)).ok_or(CommandError::NOT_AN_INTEGER)
    }

    /// Reads an argument as the number of a database.
    ///
    /// # Errors
    ///
    /// Redis' errors for what is no integer of 32 bits, and for a database that is not there.
    pub fn database_arg(&self, index: usize) -> Result<usize, CommandError> {
        let number = self.integer_arg(index)?;
        if i32::try_from(number).is_err() {
            let (least, most) = (i32::MIN, i32::MAX);
            let text = format!("ERR value is out of range, value must between {least} and {most}");
            return Err(CommandError::new(text));
        }
        self.database(number)
    }

    /// Checks the number of a database.
    ///
    /// # Errors
    ///
    /// If it is not there.
    pub fn database(&self, number: i64) -> Result<usize, CommandError> {
        let database = usize::try_from(number).ok().filter(|number| *number < self.server.databases);
        database.ok_or(CommandError::fixed("ERR DB index is out of range"))
    }

    /// Reads an argument as a floating-point number.
    ///
    /// # Errors
    ///
    /// [`CommandError::NOT_A_FLOAT`].
    pub fn double_arg(&self, index: usize) -> Result<f64, CommandError> {
        parse_double(self.args.at(index)).ok_or(CommandError::NOT_A_FLOAT)
    }

    /// Says that a key was changed, or removed: sessions that watch it or wait for it learn of it,
    /// and so do those that follow keyspace events. `event` is its name in Redis, as `lpush`.
    pub fn changed(&mut self, class: EventClass, event: &'static str, key: &[u8]) {
        self.keys.note_change(key);
        self.tell_misses();
        self.tell_insertions();
        self.effects.note_change(class, event, self.keys.database(), key);
    }

    /// Tells of the keys that were inserted since it last did: before the event of what they were
    /// inserted for.
    pub(crate) fn tell_insertions(&mut self) {
        if self.effects.records_insertions() {
            let inserted = self.keys.take_inserted();
            inserted.into_iter().for_each(|(database, key)| self.effects.note_insertion(database, key));
        }
    }

    /// Tells of the keys that were missing since it last did: before what the command has changed.
    pub(crate) fn tell_misses(&mut self) {
        if self.effects.records_misses() {
            let missed = self.keys.take_missed();
            missed.into_iter().for_each(|(database, key)| self.effects.note_missed(database, key));
        }
    }

    /// Says what is to be replayed to have the same effect: this in place of the command itself.
    /// A command that says so several times is replayed as all of that, in order.
    pub fn replay<A: AsRef<[u8]>>(&mut self, args: impl IntoIterator<Item = A>) {
        self.effects.replay(self.keys.database(), args);
    }

    /// Returns a random number: the next of the session.
    pub fn random(&mut self) -> u64 {
        self.session.random()
    }
}
