//! Words of leaves that stand for values.
//!
//! Only handles of a tree of `V` make the words of its leaves, from values of `V`, and only they
//! and the operations that they start decode them. A word of a leaf owns what it points to. An
//! operation that takes a word out of its leaf, and that alone, passes what it points to to the
//! runtime. So whatever an operation has read is there until the operation has ended.

use crate::value::{Value, ValueForm};
use crate::write_outcome::WriteOutcome;
use xtasking::{
    Context,
    arena::{Reader, WriteToken},
};

/// What keeps the values that an operation has read: its context, its reader, or that it holds the
/// leaf for writing.
pub(super) trait Keeper {}
impl Keeper for Context {}
impl Keeper for Reader<'_> {}
impl Keeper for WriteToken<'_> {}

/// Returns a copy of a value that the running operation has read in a leaf of a tree of `V`, and
/// validated.
#[inline(always)]
pub(super) fn copy<V: Value>(word: u64, _: &impl Keeper) -> V {
    // SAFETY: see the module. The operation has not ended.
    unsafe { V::Form::copy(word) }
}

/// Returns a copy of a value that the running operation has taken out of a leaf of a tree of `V`.
#[inline(always)]
pub(super) fn take<V: Value>(word: u64, cx: &mut Context) -> V {
    // First, as copying may panic. What is passed on lives until this operation has ended.
    // SAFETY: see the module. The word was taken out of its leaf once, by this operation.
    unsafe { V::Form::drop_word(word, Some(cx)) };
    copy(word, cx)
}

/// Returns the result of a write to a tree of `V`, with its value.
#[inline(always)]
pub(super) fn outcome<V: Value>(wrote: WriteOutcome<u64>, cx: &mut Context) -> WriteOutcome<V> {
    match wrote {
        WriteOutcome::Inserted => WriteOutcome::Inserted,
        WriteOutcome::Replaced(word) => WriteOutcome::Replaced(take(word, cx)),
        WriteOutcome::Exists(word) => WriteOutcome::Exists(copy(word, cx)),
        WriteOutcome::Missing => WriteOutcome::Missing,
    }
}

/// Drops a value that was meant for a leaf of a tree of `V`, or was in one.
///
/// # Safety
///
/// No leaf has got the word, or the tree is being dropped; this is called once for each word.
pub(super) unsafe fn drop_at_once<V: Value>(word: u64) {
    // SAFETY: see the module, and this function's contract.
    unsafe { V::Form::drop_word(word, None) };
}
