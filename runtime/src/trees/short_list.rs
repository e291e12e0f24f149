//! Lists that are short in most claims.

use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use smallvec::{Array, SmallVec};

/// A list of plain values. While they lie inside, it is dropped by one comparison; `SmallVec` takes
/// a call, and a claim has many lists.
pub(crate) struct ShortList<A: Array<Item: Copy>>(ManuallyDrop<SmallVec<A>>);

impl<A: Array<Item: Copy>> ShortList<A> {
    #[cold]
    fn free(&mut self) {
        // SAFETY: only `drop` calls this, once.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

impl<A: Array<Item: Copy>> Drop for ShortList<A> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.spilled() {
            self.free();
        }
    }
}

impl<A: Array<Item: Copy>> Default for ShortList<A> {
    #[inline(always)]
    fn default() -> Self {
        Self(ManuallyDrop::new(SmallVec::new()))
    }
}

impl<A: Array<Item: Copy>> Clone for ShortList<A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A: Array<Item: Copy>> Deref for ShortList<A> {
    type Target = SmallVec<A>;

    #[inline(always)]
    fn deref(&self) -> &SmallVec<A> {
        &self.0
    }
}

impl<A: Array<Item: Copy>> DerefMut for ShortList<A> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut SmallVec<A> {
        &mut self.0
    }
}
