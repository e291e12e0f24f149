//! Readers: threads that walk from node to node without a task.
//!
//! A walk reads optimistically, as a task does: it takes the version of a node, reads, and checks
//! the version. Where a writer interferes, these come next, in this order:
//!
//! 1. The node is read again, up to [`ATTEMPTS`] times in all.
//! 2. The thread enters the node as a reader, by its latch. A node of a latched primitive begins
//!    here.
//! 3. A task takes the walk over, from that node to its end, and the thread waits for it. This is
//!    for sequenced nodes, and for a latch that is not free in time.
//!
//! The epoch of the reader protects all of it, as `memory/readers.rs` says: the thread keeps its
//! slot while the task runs.

use super::access::value_of;
use super::entry::{leave, try_enter_to_read};
use super::frame_guard::FrameGuard;
use super::node_version::NodeVersion;
use super::optimistic_read;
use super::visit::{OptimisticBody, Step};
use super::{Access, JoinError, TaskBuilder, catch, discard, drop_quietly, pair};
use crate::memory::ReaderToken;
use crate::object::{FreeWord, Link, Reference, Version, Versioned};
use crate::scheduler::{Context, OpenGuard, Runtime};
use crate::sync::{Backoff, Stamp, under_model};
use core::any::type_name;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

/// The optimistic attempts at a node. With the growing pauses between them they take some
/// microseconds, about as long as a task.
const ATTEMPTS: u64 = under_model(8, 2);

/// Lets a thread read nodes of an [arena](crate::arena::Arena) without a task; made by
/// [`Runtime::reader`].
///
/// While it exists, no node is freed that its thread can reach by links. So keep it for one
/// operation only. It delays no task, but all memory that is retired meanwhile stays allocated; and
/// one worker stays awake for that memory.
///
/// It may also be used in a task. There it protects links that the task finds by it, not those of
/// the task's own operation.
///
/// ```
/// use xtasking::{Runtime, Version, Word};
/// use xtasking::arena::{Arena, LinkCell, Step};
///
/// struct Node(Word);
/// impl Version for Node {}
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let arena = Arena::new(&rt);
/// let root = LinkCell::new(arena.alloc_outside(Node(Word::new(7))));
///
/// let reader = rt.reader();
/// // Only now: a link that was loaded before may lead to a node that is freed.
/// let found = reader.walk(root.get(), |_, node: &Node| Step::End(node.0.get()))?;
/// assert_eq!(found, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader<'a> {
    rt: &'a Runtime,
    token: ReaderToken,
    /// False if the runtime had begun to end: then what links lead to may be freed.
    may_read: bool,
    _open: Option<OpenGuard<'a>>,
}

impl Runtime {
    /// Lets the calling thread read nodes without a task, until the reader is dropped.
    ///
    /// This takes one atomic exchange on a cache line that no other thread uses, as long as at most
    /// 64 readers exist at the same time. Any thread may call it, again and again. The end of the
    /// runtime waits for the readers that were made by a [handle](crate::RuntimeHandle).
    // Not inlined: in another crate, each access to a thread-local is a call.
    #[inline(never)]
    pub fn reader(&self) -> Reader<'_> {
        let open = self.keep_open();
        let token = self.shared().epochs.enter_reader();
        Reader { rt: self, token, may_read: open.is_ok(), _open: open.unwrap_or_default() }
    }
}

impl Reader<'_> {
    /// Walks from node to node, as a task with a [`Visit`](crate::arena::Visit) does. Returns the
    /// result. `read` gets a link and its node, and says where to go from there.
    ///
    /// `read` runs while a writer may change the node. It may see old and new words mixed, must
    /// terminate whatever it sees, and may run more than once, also on a worker. A panic in it
    /// counts only if the version check succeeds.
    ///
    /// `start` must have been found after the reader was made:
    /// [`Arena::retire`](crate::arena::Arena::retire) relies on it.
    ///
    /// # Errors
    ///
    /// - [`JoinError::Poisoned`] if a panic has left a node half-written,
    /// - [`JoinError::Panicked`] if `read` panics,
    /// - [`JoinError::Abandoned`] if `read` returns [`Step::Again`] though no writer is active,
    /// - [`JoinError::WouldBlock`] on a worker of the same runtime, if the walk has to wait for a
    ///   task,
    /// - [`JoinError::Foreign`] and [`JoinError::OutOfMemory`], as for a task, if a task takes the
    ///   walk over,
    /// - [`JoinError::ShutDown`] if a [handle](crate::RuntimeHandle) made the reader when the
    ///   runtime had begun to end.
    #[inline]
    pub fn walk<T, O, F>(&self, start: Link<T>, read: F) -> Result<O, JoinError>
    where
        T: Version,
        O: Send + 'static,
        F: Fn(Link<T>, &T) -> Step<T, O> + Send + 'static,
    {
        self.walk_from(&Cell::new(start), read).map(|(output, _)| output)
    }

    /// Walks like [`walk`](Self::walk), and also returns the version of the node where the walk
    /// ended. So the results of several walks can be checked to be of one moment: see
    /// [`NodeVersion`].
    ///
    /// There is no version if the walk did not read this node beside its writers. That is so for
    /// nodes of primitives that are not optimistic, and where a writer interfered.
    ///
    /// ```
    /// use xtasking::{Runtime, Version, Word};
    /// use xtasking::arena::{Arena, Step};
    ///
    /// struct Node(Word);
    /// impl Version for Node {}
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let arena = Arena::new(&rt);
    /// let [one, two] = [3, 4].map(|number| arena.alloc_outside(Node(Word::new(number))));
    ///
    /// let reader = rt.reader();
    /// let read = |_, node: &Node| Step::End(node.0.get());
    /// let (first, before) = reader.walk_versioned(one, read)?;
    /// let (second, _) = reader.walk_versioned(two, read)?;
    /// let before = before.expect("no task writes the node");
    /// // The first node was not written since, so both numbers are of one moment.
    /// assert!(before.is_current() && first + second == 7);
    /// rt.task(one.write()).submit(|node, _| node.0.set(5, node.token())).join()?;
    /// assert!(!before.is_current());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`walk`](Self::walk).
    #[inline]
    pub fn walk_versioned<T, O, F>(
        &self,
        start: Link<T>,
        read: F,
    ) -> Result<(O, Option<NodeVersion<'_>>), JoinError>
    where
        T: Version,
        O: Send + 'static,
        F: Fn(Link<T>, &T) -> Step<T, O> + Send + 'static,
    {
        let at = Cell::new(start);
        let (output, stamp) = self.walk_from(&at, read)?;
        // SAFETY: the walk has found the node while this reader, which the version borrows, keeps
        // its epoch.
        let version = |stamp| NodeVersion::new(unsafe { at.get().reference().header() }, stamp);
        Ok((output, stamp.map(version)))
    }

    /// Walks on from `at`. Returns the result, and the version of the last node if it was read
    /// beside its writers; `at` then has its link.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn walk_from<T, O, F>(&self, at: &Cell<Link<T>>, read: F) -> Result<(O, Option<Stamp>), JoinError>
    where
        T: Version,
        O: Send + 'static,
        F: Fn(Link<T>, &T) -> Step<T, O> + Send + 'static,
    {
        if !self.may_read {
            return Err(JoinError::ShutDown);
        }
        let free_word = self.rt.shared().free_word;
        loop {
            match catch(|| read_on(at, &read, free_word)) {
                Ok(Some((output, stamp))) => return Ok((output, Some(stamp))),
                Ok(None) => {}
                // The node is read again, with writers excluded: then a panic counts.
                Err(payload) => discard(payload),
            }
            match read_entering(at.get(), &read, free_word) {
                Some(Ok(Step::Go(next, _))) => at.set(next),
                Some(Ok(Step::End(output))) => return Ok((output, None)),
                // No writer was active, so the walk cannot recover.
                Some(Ok(Step::Again)) => return Err(JoinError::Abandoned),
                Some(Err(error)) => return Err(error),
                None => return Ok((self.hand_over(at.get(), read)?, None)),
            }
        }
    }

    /// Lets a task walk on from a node, and waits for it.
    #[cold]
    fn hand_over<T, O, F>(&self, at: Link<T>, read: F) -> Result<O, JoinError>
    where
        T: Version,
        O: Send + 'static,
        F: Fn(Link<T>, &T) -> Step<T, O> + Send + 'static,
    {
        if !self.rt.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let (handle, promise) = pair(self.rt.shared().clone());
        let (request, access, _) = TaskBuilder::new(self.rt, at.read()).into_parts();
        let rest = WalkRest { read, target: PhantomData };
        optimistic_read::launch(request, access.object_access(), rest, promise);
        // The task relies on the slot of this reader, also if the platform refuses to block or
        // panics. It reads before it learns that it was cancelled.
        if planted!("reader-leaves-its-task") {
            return handle.join();
        }
        FrameGuard::new(self.rt.shared(), handle, false).wait()
    }
}

impl Drop for Reader<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.rt.shared().epochs.leave_reader(&self.token);
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

/// Walks on optimistically. Returns `None` at a node that has to be entered; `at` has its link.
#[cfg_attr(not(debug_assertions), inline(always))]
fn read_on<T: Version, O>(
    at: &Cell<Link<T>>,
    read: &impl Fn(Link<T>, &T) -> Step<T, O>,
    free_word: FreeWord,
) -> Option<(O, Stamp)> {
    let mut here = at.get();
    while here.reference().primitive().is_optimistic() {
        let (step, stamp) = read_once(here, read, free_word).or_else(|| read_again(here, read, free_word))?;
        match step {
            Step::Go(next, part) => {
                // The first line is read at once; the others arrive meanwhile.
                if part.count() > 1 {
                    next.reference().fetch(part).issue();
                }
                here = next;
                at.set(next);
            }
            Step::End(output) => return Some((output, stamp)),
            Step::Again => return None,
        }
    }
    None
}

/// Reads a node beside its writers, and returns the version that it read. Returns `None` if a
/// writer interferes.
#[cfg_attr(not(debug_assertions), inline(always))]
fn read_once<T: Version, O>(
    at: Link<T>,
    read: &impl Fn(Link<T>, &T) -> Step<T, O>,
    free_word: FreeWord,
) -> Option<(Step<T, O>, Stamp)> {
    let target = at.reference();
    // SAFETY: the reader's epoch keeps the node alive, and the link fixes its type.
    let (header, value) = unsafe { (target.header(), value_of::<Versioned<T>>(target)) };
    let stamp = header.begin_read(free_word)?;
    let step = read(at, &value.0);
    let is_valid = header.latch.validate(stamp) || planted!("reader-version-unchecked");
    if is_valid && !matches!(step, Step::Again) {
        return Some((step, stamp));
    }
    // Its destructor is user code, and may panic.
    drop_quietly(step);
    None
}

/// Reads a node again after a writer has interfered. Returns `None` if all attempts fail.
#[cold]
#[inline(never)]
fn read_again<T: Version, O>(
    at: Link<T>,
    read: &impl Fn(Link<T>, &T) -> Step<T, O>,
    free_word: FreeWord,
) -> Option<(Step<T, O>, Stamp)> {
    let mut backoff = Backoff::new();
    (1..ATTEMPTS).find_map(|_| {
        backoff.wait();
        read_once(at, read, free_word)
    })
}

/// Reads a node with writers excluded. Returns `None` if this thread cannot enter it.
#[cold]
fn read_entering<T: Version, O>(
    at: Link<T>,
    read: &impl Fn(Link<T>, &T) -> Step<T, O>,
    free_word: FreeWord,
) -> Option<Result<Step<T, O>, JoinError>> {
    let target = at.reference();
    // SAFETY: as in `read_once`.
    let (header, value) = unsafe { (target.header(), value_of::<Versioned<T>>(target)) };
    if let Some(error) = header.failure(free_word) {
        return Some(Err(error));
    }
    let mut backoff = Backoff::new();
    while !try_enter_to_read(header, target.primitive()) {
        // Below this call on the stack there may be a task that holds the latch.
        if target.primitive().is_sequenced() || backoff.is_long() {
            return None;
        }
        backoff.wait();
    }
    let step = match header.failure(free_word) {
        Some(error) => Err(error),
        None => catch(|| read(at, &value.0)).map_err(JoinError::panicked),
    };
    leave(header, target.primitive(), false);
    Some(step)
}

/// The rest of a walk, for a task.
struct WalkRest<T, F> {
    read: F,
    target: PhantomData<fn(&T)>,
}

impl<T, O, F> OptimisticBody for WalkRest<T, F>
where
    T: Version,
    O: Send + 'static,
    F: Fn(Link<T>, &T) -> Step<T, O> + Send + 'static,
{
    type Target = T;
    type Output = O;
    type Result = O;

    fn read(&self, at: Reference, target: &T) -> Step<T, O> {
        (self.read)(Link::from_reference(at), target)
    }

    fn then(self, output: O, _: &mut Context) -> O {
        output
    }

    fn name() -> &'static str {
        type_name::<F>()
    }
}
