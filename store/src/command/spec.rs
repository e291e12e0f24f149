//! What the table says of a command.

use super::{Call, CommandError, CommandResult, KeyPositions, Reach};
use crate::resp::{Args, Reply};
use crate::value::ValueRef;
use std::ops::BitOr;

/// A command: its entry in the table. Made by [`Command::new`] and the methods after it.
#[derive(Debug)]
pub struct Command {
    /// In small letters; for a subcommand with its container, as `config|get`.
    pub name: &'static str,
    /// The number of arguments, the name included; negative if there may be more.
    pub arity: i32,
    /// What kind of command it is.
    pub flags: Flags,
    /// Which of its arguments are keys.
    pub keys: KeyPositions,
    /// The categories for access control, besides those that the flags imply.
    pub categories: &'static [&'static str],
    /// The group in the documentation.
    pub group: &'static str,
    /// The version of Redis that had it first.
    pub since: &'static str,
    /// How long it takes.
    pub complexity: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Whether it mostly takes so little time that it is measured together with others.
    pub(crate) is_quick: bool,
    /// The function that runs it.
    pub run: Run,
    /// Returns true if a call with these arguments holds its keys alone, although the command
    /// changes none.
    pub(crate) locks_keys_if: Option<fn(Args<'_>) -> bool>,
    /// Returns the right that a call needs on keys which are not among its arguments.
    pub(crate) reach: Option<fn(Args<'_>) -> Option<Reach>>,
    /// The subcommands of a container.
    pub subcommands: &'static [Command],
}

/// How a command runs.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// By a function that may do anything.
    Call(fn(&mut Call<'_, '_>) -> CommandResult),
    /// By a function that reads the value of the first argument, which is the only key, and writes
    /// the reply.
    Read(Reader),
}

/// Writes the reply to a command that reads one value. It gets the value, if there is such a key,
/// and the arguments. An error takes the place of what it has written.
pub type Reader = fn(Option<ValueRef<'_>>, Args<'_>, &mut Reply) -> Result<(), CommandError>;

/// Properties of a command, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u32);

macro_rules! flags {
    ($($(#[$doc:meta])* $constant:ident = $bit:literal $name:literal;)*) => {
        impl Flags {
            $($(#[$doc])* pub const $constant: Self = Self(1 << $bit);)*

            /// The flags in the order in which COMMAND INFO names them, with those names.
            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$constant, $name)),*];
        }
    };
}

flags! {
    /// Changes keys.
    WRITE = 0 "write";
    /// Reads keys.
    READONLY = 1 "readonly";
    /// Refused when memory is full.
    DENYOOM = 2 "denyoom";
    /// For administrators.
    ADMIN = 3 "admin";
    /// Publishes or subscribes.
    PUBSUB = 4 "pubsub";
    /// Not in scripts.
    NOSCRIPT = 5 "noscript";
    /// May wait for a key.
    BLOCKING = 6 "blocking";
    /// Allowed while data are loaded.
    LOADING = 7 "loading";
    /// Allowed on a replica with old data.
    STALE = 8 "stale";
    /// Not shown by MONITOR.
    SKIP_MONITOR = 9 "skip_monitor";
    /// Not in the slow log.
    SKIP_SLOWLOG = 10 "skip_slowlog";
    /// Takes constant time, or the logarithm of the number of elements.
    FAST = 11 "fast";
    /// Allowed without authentication.
    NO_AUTH = 12 "no_auth";
    /// Allowed in a transaction that was aborted, and while a script is too slow.
    ALLOW_BUSY = 14 "allow_busy";
    /// Not while data are loaded beside.
    NO_ASYNC_LOADING = 15 "no_async_loading";
    /// Not inside MULTI.
    NO_MULTI = 16 "no_multi";
    /// Its keys are found by a function.
    MOVABLE_KEYS = 17 "movablekeys";
}

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);

    /// Holds its keys alone although it does not change them. Clients do not see this flag.
    pub const LOCKS_KEYS: Self = Self(1 << 25);

    /// May have effects that a replica needs, although it writes no keys. Clients do not see it.
    pub const MAY_REPLICATE: Self = Self(1 << 24);

    /// Returns true if it has all these flags.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Returns these flags and those.
    pub const fn and(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }

    /// Returns the names that COMMAND INFO gives.
    pub fn names(self) -> impl Iterator<Item = &'static str> + Clone {
        Self::NAMES.iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, name)| *name)
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

impl Command {
    /// Begins an entry: the name, the arity, and the function.
    pub const fn new(name: &'static str, arity: i32, run: fn(&mut Call<'_, '_>) -> CommandResult) -> Self {
        Self::running(name, arity, Run::Call(run))
    }

    /// Begins an entry of a command that reads one value: the name, the arity, and the function.
    pub const fn reading(name: &'static str, arity: i32, reader: Reader) -> Self {
        Self::running(name, arity, Run::Read(reader)).reads_key()
    }

    const fn running(name: &'static str, arity: i32, run: Run) -> Self {
        Self {
            name,
            arity,
            flags: Flags::NONE,
            keys: KeyPositions::None,
            categories: &[],
            group: "",
            since: "1.0.0",
            complexity: "",
            summary: "",
            is_quick: false,
            run,
            locks_keys_if: None,
            reach: None,
            subcommands: &[],
        }
    }

    /// Adds flags.
    pub const fn flags(mut self, flags: &[Flags]) -> Self {
        let mut at = 0;
        while at < flags.len() {
            self.flags = self.flags.and(flags[at]);
            at += 1;
        }
        self
    }

    /// Says that a function tells which calls hold their keys alone, although they change none.
    pub(crate) const fn locks_keys_if(mut self, locks: fn(Args<'_>) -> bool) -> Self {
        self.locks_keys_if = Some(locks);
        self
    }

    /// Says that calls reach keys which are not among their arguments.
    pub(crate) const fn reaching(mut self, reach: fn(Args<'_>) -> Option<Reach>) -> Self {
        self.reach = Some(reach);
        self
    }

    /// Says that it reads the key that is its first argument.
    pub(super) const fn reads_key(self) -> Self {
        self.flags(&[Flags::READONLY]).keys(1, 1, 1)
    }

    /// Says that it changes the key that is its first argument.
    pub(super) const fn writes_key(self) -> Self {
        self.flags(&[Flags::WRITE]).keys(1, 1, 1)
    }

    /// Says that the arguments from `first` to `last` in steps are keys.
    pub const fn keys(mut self, first: usize, last: isize, step: usize) -> Self {
        self.keys = KeyPositions::Range { first, last, step };
        self
    }

    /// Says that a function finds the keys.
    pub const fn keys_by(mut self, find: fn(Args<'_>) -> Vec<usize>) -> Self {
        self.keys = KeyPositions::Function(find);
        self
    }

    /// Says that the keys follow their number at `count`.
    pub const fn counted_keys(mut self, count: usize) -> Self {
        self.keys = KeyPositions::Counted { count, has_destination: false };
        self
    }

    /// Says that the first argument is a destination, and that the keys follow their number after
    /// it.
    pub const fn destination_and_counted_keys(mut self) -> Self {
        self.keys = KeyPositions::Counted { count: 2, has_destination: true };
        self
    }

    /// Says that a function finds the keys, and another one tells whether patterns lead to more.
    pub const fn keys_and_patterns(
        mut self,
        keys: fn(Args<'_>) -> Vec<usize>,
        has_patterns: fn(Args<'_>) -> bool,
    ) -> Self {
        self.keys = KeyPositions::Patterns { keys, has_patterns };
        self
    }

    /// Says that it touches all shards.
    pub const fn all_keys(mut self) -> Self {
        self.keys = KeyPositions::All;
        self
    }

    /// Says where its keys are found.
    pub const fn keys_from(mut self, keys: KeyPositions) -> Self {
        self.keys = keys;
        self
    }

    /// Sets the categories for access control that its flags do not imply.
    pub const fn categories(mut self, categories: &'static [&'static str]) -> Self {
        self.categories = categories;
        self
    }

    /// Sets the group in the documentation.
    pub const fn group(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }

    /// Sets what the documentation says: first version, complexity, and a line.
    pub const fn doc(mut self, since: &'static str, complexity: &'static str, summary: &'static str) -> Self {
        self.since = since;
        self.complexity = complexity;
        self.summary = summary;
        let is_constant =
            complexity.len() >= 4 && matches!(complexity.as_bytes().first_chunk(), Some(b"O(1)"));
        let is_long = self.flags.has(Flags::BLOCKING) || matches!(self.keys, KeyPositions::All);
        self.is_quick = (is_constant || self.flags.has(Flags::FAST)) && !is_long;
        self
    }

    /// Sets the subcommands.
    pub const fn subcommands(mut self, subcommands: &'static [Command]) -> Self {
        self.subcommands = subcommands;
        self
    }

    /// Returns true if the number of arguments is right.
    pub fn accepts(&self, args: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { args >= wanted } else { args == wanted }
    }

    /// Returns true if it changes what the session listens to. Its reply is sent even if the client
    /// wants none.
    pub(crate) fn changes_listening(&self) -> bool {
        matches!(self.name, "subscribe" | "psubscribe" | "unsubscribe" | "punsubscribe")
    }

    /// Returns true if its task holds the shards alone, whatever the arguments are.
    pub fn holds_alone(&self) -> bool {
        self.flags.has(Flags::WRITE) || self.flags.has(Flags::LOCKS_KEYS)
    }

    /// Returns true if the task of a call with these arguments holds the shards alone.
    pub(crate) fn call_holds_alone(&self, args: Args<'_>) -> bool {
        self.holds_alone() || self.locks_keys_if.is_some_and(|locks| locks(args))
    }

    /// Returns all categories for access control, in alphabetical order, without the `@`.
    pub fn all_categories(&self) -> Vec<&'static str> {
        let mut all = self.categories.to_vec();
        let implied = [
            (Flags::WRITE, "write"),
            (Flags::READONLY, "read"),
            (Flags::ADMIN, "admin"),
            (Flags::ADMIN, "dangerous"),
            (Flags::PUBSUB, "pubsub"),
            (Flags::BLOCKING, "blocking"),
        ];
        all.extend(implied.iter().filter(|(flag, _)| self.flags.has(*flag)).map(|(_, name)| *name));
        all.push(if self.flags.has(Flags::FAST) { "fast" } else { "slow" });
        all.sort_unstable();
        all.dedup();
        all
    }
}
