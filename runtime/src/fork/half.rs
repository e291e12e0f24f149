//! The body and the result in a job: what the forking function knows of it.

use super::job::RunFn;
use super::{Fork, Job};
use crate::task::{Payload, catch};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};
use core::ptr::NonNull;

/// Room for a body or its result, or for the address of both.
pub(super) type Room = MaybeUninit<[u128; 4]>;

/// A body, and after a thief has run it its result. Only accessed through pointers to the two.
#[allow(dead_code, reason = "the fields stand for their sizes")]
pub(crate) union Content<B, R> {
    body: ManuallyDrop<B>,
    result: ManuallyDrop<Result<R, Payload>>,
}

/// A job whose types are known: what the forking function holds.
pub(crate) struct Half<B, R> {
    job: NonNull<Job>,
    types: PhantomData<(B, R)>,
}
impl<B, R> Clone for Half<B, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B, R> Copy for Half<B, R> {}

impl<R, B: FnOnce(Fork<'_>) -> R> Half<B, R> {
    /// Whether body and result have room in a job.
    pub const FITS: bool =
        size_of::<Content<B, R>>() <= size_of::<Room>() && align_of::<Content<B, R>>() <= align_of::<Room>();

    /// Writes a job and pushes it. A body without room in it goes into `frame`, which must stay in
    /// place until the job is over.
    ///
    /// # Safety
    ///
    /// `job` is the top of the caller's own stack.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub unsafe fn write(job: NonNull<Job>, body: B, frame: &mut MaybeUninit<Content<B, R>>) -> Self {
        // SAFETY: the body is the owner's until the job is pushed, and no thief accesses it before.
        // A union's fields begin where the union does.
        unsafe {
            let room = Job::room(job);
            let content = if Self::FITS {
                room.cast::<Content<B, R>>()
            } else {
                room.cast::<*mut Content<B, R>>().write(frame.as_mut_ptr());
                frame.as_mut_ptr()
            };
            content.cast::<B>().write(body);
            Job::push(job, Self::run);
        }
        Self { job, types: PhantomData }
    }

    #[inline(always)]
    pub fn job(self) -> NonNull<Job> {
        self.job
    }

    /// Returns the function of the job.
    pub fn run_fn(self) -> RunFn {
        Self::run
    }

    /// # Safety
    ///
    /// `job` was written by [`write`](Self::write), with these types, and is not over.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn content(job: NonNull<Job>) -> *mut Content<B, R> {
        // SAFETY: `write` has put the content, or its address, there.
        unsafe {
            let room = Job::room(job);
            if Self::FITS { room.cast() } else { room.cast::<*mut Content<B, R>>().read() }
        }
    }

    /// Runs the body and leaves its result. Without a fork, drops the body.
    ///
    /// # Safety
    ///
    /// As for [`content`](Self::content); the job is the caller's, and was not run.
    unsafe fn run(job: NonNull<Job>, cx: Option<Fork<'_>>) {
        // SAFETY: the job is the caller's, and no other thread accesses it until it is done. (A
        // body that its owner runs may use the slot for other jobs; these are over before the
        // result is written.)
        unsafe {
            let content = Self::content(job);
            let body = content.cast::<B>().read();
            let Some(cx) = cx else { return drop(body) };
            let result = catch(|| body(cx));
            content.cast::<Result<R, Payload>>().write(result);
        }
    }

    /// Takes the body out.
    ///
    /// # Safety
    ///
    /// The job is the caller's, and the body was not taken before.
    #[inline(always)]
    pub unsafe fn take_body(self) -> B {
        // SAFETY: the job is the caller's, with its body.
        unsafe { read_by_words(Self::content(self.job).cast::<B>()) }
    }

    /// Takes the result that a thief has left.
    ///
    /// # Safety
    ///
    /// The job is done, and the result was not taken before.
    pub unsafe fn take_result(self) -> Result<R, Payload> {
        // SAFETY: the job is done, so that the thief has left the result and does not access it any
        // more.
        unsafe { Self::content(self.job).cast::<Result<R, Payload>>().read() }
    }
}

/// Reads a value of a few words as [`ptr::read`](core::ptr::read) does, but word by word.
///
/// A body is often read soon after its words were stored, one by one. A load of two words at once,
/// which the compiler prefers, would wait until both stores are in the cache.
///
/// # Safety
///
/// As for `ptr::read`.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn read_by_words<T>(from: *const T) -> T {
    type Word = MaybeUninit<usize>;
    let is_brief = size_of::<T>() <= size_of::<Room>() && align_of::<T>() >= align_of::<Word>();
    let words = if is_brief { size_of::<T>() / size_of::<Word>() } else { 0 };
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: `from` has the bytes of a value, which are copied one after the other.
    unsafe {
        for word in 0..words {
            // Volatile, so that the compiler does not load several words at once.
            value.as_mut_ptr().cast::<Word>().add(word).write(from.cast::<Word>().add(word).read_volatile());
        }
        let (copied, size) = (words * size_of::<Word>(), size_of::<T>());
        let rest = value.as_mut_ptr().cast::<u8>().add(copied);
        rest.copy_from_nonoverlapping(from.cast::<u8>().add(copied), size - copied);
        value.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::read_by_words;
    use alloc::boxed::Box;

    fn copy<T>(value: T) -> T {
        let value = core::mem::ManuallyDrop::new(value);
        // SAFETY: the value is not used any more.
        unsafe { read_by_words(&*value) }
    }

    #[test]
    fn values_of_any_size_are_read_whole() {
        copy(());
        assert_eq!(copy([7u8; 13]), [7; 13]);
        assert_eq!(copy((1u64, 2u8)), (1, 2));
        assert_eq!(copy((1u32, 2u64, 3u16, [4u8; 5])), (1, 2, 3, [4; 5]));
        assert_eq!(copy(u128::MAX - 1), u128::MAX - 1);
        let numbers: [u64; 9] = core::array::from_fn(|number| number as u64);
        assert_eq!(copy(numbers), numbers);
        assert_eq!(copy((numbers, 1u8)), (numbers, 1));
        let (text, number) = copy((Box::<str>::from("text"), Box::new(5)));
        assert_eq!((&*text, *number), ("text", 5));
    }
}
