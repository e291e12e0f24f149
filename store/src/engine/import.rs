//! Loads an append-only file of Redis: the caller reads it, and tasks run its commands.
//!
//! They run as units of a log are replayed, see [`stages`](super::stages): a task for each worker
//! on its part of the shards, and tasks on all shards between for what is about keys of several
//! parts.

use super::Engine;
use super::engine::Inner;
use super::load::{LoadProgress, Loading};
use super::replay::{FETCHED_AT_ONCE, Replayer};
use super::stages::{PlacedUnit, ShardParts, Stage, Stages};
use crate::aof::{AofEnd, AofError, AofErrorKind, AofProgress, CommandReader, NextCommand};
use crate::command::{Flags, resolve};
use crate::rdb::{RdbError, RdbErrorKind, RdbReader};
use crate::resp::{Args, Requests, parse_integer};
use crate::server::Setting;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use xtasking::Handle;

/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;
/// Commands of about this many bytes are run together.
const BYTES_OF_BATCH: usize = 1 << 20;
/// The bytes with which a snapshot begins.
const SNAPSHOT: &[u8] = b"REDIS";

/// Commands that are run together.
#[derive(Debug, Default)]
struct CommandBatch {
    requests: Requests,
    places: Vec<CommandPlace>,
}

/// What is known of a command besides its arguments.
#[derive(Clone, Copy, Debug)]
struct CommandPlace {
    database: usize,
    /// Where it begins in the file.
    offset: u64,
    /// Whether the log gets what it has changed with what comes next.
    is_followed: bool,
}

/// A file whose commands are read.
struct Import<'e, R> {
    inner: &'e Arc<Inner>,
    reader: CommandReader<R>,
    database: usize,
    batch: CommandBatch,
    /// The commands since MULTI, and where that is.
    transaction: Option<(u64, CommandBatch)>,
    /// Those of the last stage.
    tasks: Vec<Handle<Result<(), AofError>>>,
    progress: AofProgress,
}

impl Engine {
    /// Loads an append-only file of Redis: runs its commands, after it has loaded the snapshot with
    /// which it may begin. The log gets what is changed, if there is one. `tell` is called again
    /// and again with the progress. Of several files each is loaded in its turn; only the last one
    /// may be torn. To be called before requests of sessions.
    ///
    /// While commands run nothing expires: a key that has expired was removed by a command. Those
    /// that name a span of time, as EXPIRE does, begin it now, and consumers of streams are seen
    /// now.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is malformed, or has a command that the store does not have, or
    /// that fails; if it is torn and may not be; or if the thread is a worker, or the runtime ends.
    /// Part of it may have been loaded then. Of several commands that fail the first one is named:
    /// those before it have run, and some of those after it, on other keys.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_store::Engine;
    /// use xtasking_store::aof::AofEnd;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let engine = Engine::builder().build(&rt);
    /// let file = b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n*2\r\n$3\r\nDEL\r\n$3\r\nk";
    /// let loaded = engine.load_aof(&file[..], AofEnd::MayBeTorn, |_| {})?;
    /// assert_eq!((loaded.commands, loaded.torn), (1, 18));
    /// assert_eq!(engine.client().run(["GET", "key"])?, b"$5\r\nvalue\r\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_aof(
        &self,
        file: impl Read,
        end: AofEnd,
        mut tell: impl FnMut(AofProgress),
    ) -> Result<AofProgress, AofError> {
        let mut file = BufReader::with_capacity(PIECE, file);
        let mut start = Vec::new();
        let read = file.by_ref().take(SNAPSHOT.len() as u64).read_to_end(&mut start);
        read.map_err(|error| AofError::new(0, AofErrorKind::Io(error)))?;
        let has_snapshot = start == SNAPSHOT;
        let file = Cursor::new(start).chain(file);
        if !has_snapshot {
            return self.run_commands(file, 0, AofProgress::default(), end, &mut tell);
        }
        let mut file = RdbReader::new(file)?;
        let mut progress = AofProgress::default();
        let mut tell_loaded = |loaded: LoadProgress| {
            progress.bytes = loaded.bytes;
            progress.keys = loaded.keys - loaded.empty;
            tell(progress);
        };
        let loaded = self.order_at_once(|| self.load_base(&mut file, &mut tell_loaded))?;
        progress.functions = loaded.functions;
        let offset = file.offset();
        let rest = BufReader::with_capacity(PIECE, file.into_rest());
        self.run_commands(rest, offset, progress, end, &mut tell)
    }

    /// Runs the commands of a file from this offset on.
    fn run_commands(
        &self,
        input: impl BufRead,
        offset: u64,
        progress: AofProgress,
        end: AofEnd,
        tell: &mut dyn FnMut(AofProgress),
    ) -> Result<AofProgress, AofError> {
        let _loading = Loading::begin(&self.inner);
        let longest = self.server().settings.number(Setting::ProtoMaxBulkLen);
        let mut import = Import {
            inner: &self.inner,
            reader: CommandReader::new(input, offset, longest as u64),
            database: 0,
            batch: CommandBatch::default(),
            transaction: None,
            tasks: Vec::new(),
            progress,
        };
        let read = import.read(end, tell);
        // Waited for also after an error.
        let run = import.send();
        import.wait().and(run).and(read)?;
        let progress = import.progress;
        let touched = self.inner.end_replay(self.runtime(), progress.commands > 0);
        touched.map_err(|_| AofError::new(progress.bytes, AofErrorKind::Interrupted))?;
        tell(progress);
        Ok(progress)
    }
}

impl From<RdbError> for AofError {
    fn from(error: RdbError) -> Self {
        let kind = match error.kind {
            RdbErrorKind::Io(error) => AofErrorKind::Io(error),
            RdbErrorKind::Runtime(_) => AofErrorKind::Interrupted,
            kind => AofErrorKind::Snapshot(kind),
        };
        Self::new(error.offset, kind)
    }
}

/// Returns the error of a command that is refused.
fn refused(args: Args<'_>, offset: u64, reason: &[u8]) -> AofError {
    let command = String::from_utf8_lossy(args.get(0).unwrap_or_default()).into_owned();
    let reason = String::from_utf8_lossy(reason).into_owned();
    AofError::new(offset, AofErrorKind::Refused { command, reason })
}

impl<R: BufRead> Import<'_, R> {
    /// Reads all commands, and gives them to tasks.
    fn read(&mut self, end: AofEnd, tell: &mut dyn FnMut(AofProgress)) -> Result<(), AofError> {
        let mut request = Requests::default();
        let mut whole = self.reader.offset();
        let next = loop {
            request.clear();
            match self.reader.next(&mut request)? {
                NextCommand::Whole => self.take(request.args(0), whole)?,
                other => break other,
            }
            whole = self.reader.offset();
            if self.batch.requests.bytes() >= BYTES_OF_BATCH {
                self.send()?;
                self.progress.bytes = whole;
                tell(self.progress);
            }
        };
        if planted!("torn-transaction-loaded") && self.transaction.is_some() {
            self.take(Requests::one(["EXEC"]).args(0), whole)?;
        }
        // A transaction without its end never was one.
        let open = self.transaction.as_ref().map(|(begun_at, _)| *begun_at);
        self.progress.bytes = match (open, next) {
            (Some(begun_at), _) => begun_at,
            (None, NextCommand::Torn) => whole,
            (None, _) => self.reader.offset(),
        };
        self.progress.torn = self.reader.offset() - self.progress.bytes;
        match end {
            AofEnd::Whole if self.progress.torn > 0 => {
                Err(AofError::new(self.progress.bytes, AofErrorKind::Torn))
            }
            _ => Ok(()),
        }
    }

    /// Takes a command that begins at this offset.
    fn take(&mut self, args: Args<'_>, offset: u64) -> Result<(), AofError> {
        let is = |word| args.is(0, word);
        let refused = |reason: &str| refused(args, offset, reason.as_bytes());
        if is("select") && args.len() == 2 {
            let number = parse_integer(&args[1]).and_then(|number| usize::try_from(number).ok());
            let number = number.filter(|number| *number < self.inner.server.databases);
            let missing = || {
                let shown = args[1].escape_ascii();
                refused(&format!("there is no database {shown}; the setting databases makes more of them"))
            };
            self.database = number.ok_or_else(missing)?;
        } else if is("multi") && args.len() == 1 {
            if self.transaction.is_some() {
                return Err(refused("it stands in a transaction"));
            }
            self.transaction = Some((offset, CommandBatch::default()));
        } else if is("exec") && args.len() == 1 {
            let queued = self.transaction.take();
            let (_, mut queued) = queued.ok_or_else(|| refused("there is no MULTI before it"))?;
            if let Some(last) = queued.places.last_mut() {
                last.is_followed = false;
            }
            self.progress.commands += queued.places.len() as u64;
            for (index, place) in queued.places.iter().enumerate() {
                self.batch.push(queued.requests.args(index), *place);
            }
        } else {
            let (database, is_followed) = (self.database, self.transaction.is_some());
            let place = CommandPlace { database, offset, is_followed };
            match &mut self.transaction {
                Some((_, queued)) => queued.push(args, place),
                None => {
                    self.progress.commands += 1;
                    self.batch.push(args, place);
                }
            }
        }
        Ok(())
    }

    /// Gives the commands to tasks, when those before have ended. Waits for all stages but the
    /// last.
    fn send(&mut self) -> Result<(), AofError> {
        // After an error of a task before they are not run, also if this is called again.
        let batch = Arc::new(mem::take(&mut self.batch));
        self.wait()?;
        if batch.places.is_empty() {
            return Ok(());
        }
        self.inner.wait_for_log();
        let (inner, now) = (self.inner, self.inner.now());
        let parts = ShardParts::new(&inner.layout, inner.server.workers);
        for stage in batch.stages(parts) {
            self.wait()?;
            let side_by_side = stage.on_shards(parts).into_iter();
            self.tasks = side_by_side.map(|(shards, own)| batch.run_on(inner, shards, own, now)).collect();
        }
        Ok(())
    }

    /// Waits for the tasks. Returns the error that comes first in the file.
    fn wait(&mut self) -> Result<(), AofError> {
        let interrupted = || AofError::new(self.progress.bytes, AofErrorKind::Interrupted);
        // All are waited for, also after an error.
        let ended: Vec<_> = mem::take(&mut self.tasks).into_iter().map(Handle::join).collect();
        let errors = ended.into_iter().filter_map(|run| run.unwrap_or_else(|_| Err(interrupted())).err());
        errors.min_by_key(|error| error.offset).map_or(Ok(()), Err)
    }
}

impl CommandBatch {
    fn push(&mut self, args: Args<'_>, place: CommandPlace) {
        self.requests.push(args.iter());
        self.places.push(place);
    }

    /// Returns the order in which the commands can run. A transaction is a unit.
    fn stages(&self, parts: ShardParts<'_>) -> Vec<Stage> {
        let (mut stages, mut first) = (Stages::new(parts), 0);
        for (index, place) in self.places.iter().enumerate() {
            stages.take(place.database, self.requests.args(index));
            if !place.is_followed {
                if !stages.end_unit(first..index + 1) {
                    return vec![Stage::Whole(0..self.places.len())];
                }
                first = index + 1;
            }
        }
        stages.into_stages()
    }

    /// Runs some of the commands, by a task on some of the shards.
    fn run_on(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        shards: Range<usize>,
        units: Vec<PlacedUnit>,
        now: u64,
    ) -> Handle<Result<(), AofError>> {
        let (batch, own) = (self.clone(), inner.clone());
        inner.on_shards(&inner.runtime, shards, move |held, worker| {
            let mut replayer = Replayer::new(&own, held);
            let mut groups = units.chunks(FETCHED_AT_ONCE);
            let run = groups.try_for_each(|group| {
                replayer.fetch(group);
                let mut commands = group.iter().flat_map(|unit| unit.span.clone());
                commands.try_for_each(|index| batch.run(index, &mut replayer, worker, now))
            });
            replayer.end_unit(worker);
            run
        })
    }

    /// Runs a command.
    fn run(
        &self,
        index: usize,
        replayer: &mut Replayer<'_>,
        worker: usize,
        now: u64,
    ) -> Result<(), AofError> {
        let (place, args) = (self.places[index], self.requests.args(index));
        let refused = |reason: &[u8]| refused(args, place.offset, reason);
        let command = resolve(args).map_err(|error| refused(error.text()))?;
        // Redis writes commands that change keys, and PFCOUNT, which may.
        if !command.flags.has(Flags::WRITE) && !command.flags.has(Flags::READONLY) {
            return Err(refused(b"it is no command on keys"));
        }
        let now = if needs_time(command.name, args) { now } else { 0 };
        let run = replayer.run_at(command, place.database, args, now);
        run.map_err(|reply| refused(reply.strip_prefix(b"-").unwrap_or(&reply)))?;
        if !place.is_followed {
            replayer.end_unit(worker);
        }
        Ok(())
    }
}

/// Returns true if a command runs at the time of the load. It names a span of time and not a
/// moment: Redis writes moments, others that write such files may not. Or it is about a stream: a
/// consumer is seen now. The others run at 0, as a moment that is over says when a key has expired.
fn needs_time(command: &str, args: Args<'_>) -> bool {
    let has = |from: usize, word: &str| (from..args.len()).any(|index| args.is(index, word));
    match command {
        "expire" | "pexpire" | "setex" | "psetex" => true,
        "set" => has(3, "ex") || has(3, "px"),
        "getex" => has(2, "ex") || has(2, "px"),
        "restore" => !has(4, "absttl"),
        _ => command.starts_with('x'),
    }
}
