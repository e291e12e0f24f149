//! A place in a fork stack: all that a join passes on.

use super::{Forks, StackMemory};
use crate::fork::Job;
use crate::sync::{Relaxed, light_fence};
use core::num::NonZero;
use core::ptr::NonNull;

/// A place in the stack: the slot of the next job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Top(pub(super) NonNull<Job>);

impl Top {
    /// Returns the slot at this place.
    #[inline(always)]
    pub fn slot(self) -> NonNull<Job> {
        self.0
    }

    #[inline(always)]
    pub fn address(self) -> usize {
        self.0.addr().get()
    }

    /// Returns the stack that the place is in. Not for the end, which is behind the stack.
    #[inline(always)]
    pub fn forks(self) -> Forks {
        // SAFETY: the stack is aligned to its size, so the masked address is its beginning, which
        // is not null.
        let begin = |place: NonZero<usize>| unsafe {
            NonZero::new_unchecked(place.get() & !(size_of::<StackMemory>() - 1))
        };
        Forks(self.0.map_addr(begin).cast())
    }

    /// Returns true if a join that has written its job here has to leave the fast path.
    #[inline(always)]
    pub fn leaves_fast_path(self) -> bool {
        // Pairs with the barrier of a worker that falls asleep: either this thread sees the
        // request, or that one sees the job.
        light_fence();
        self.address() >= self.forks().head().limit.load(Relaxed)
    }

    /// Returns true if this is the last slot.
    pub fn is_last(self) -> bool {
        self.address() == self.forks().last()
    }

    /// Returns the same place, hidden from the optimizer.
    ///
    /// A function that ends with a join may become a loop whose next turn is the second half, at
    /// the same place. The compiler would then compute before the loop what follows from the place.
    /// It would keep that over the calls, in registers that each call has to save. Computing it
    /// anew is cheaper.
    #[inline(always)]
    pub fn opaque(self) -> Self {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        {
            let mut place = self.0.as_ptr();
            // SAFETY: it emits no instruction, and leaves the register unchanged.
            unsafe {
                core::arch::asm!("/* {0} */", inout(reg) place, options(readonly, nostack, preserves_flags));
                Self(NonNull::new_unchecked(place))
            }
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        self
    }

    /// Returns the place with that address in the same stack.
    pub(super) fn with_address(self, address: usize) -> Self {
        // SAFETY: an address in the stack, which is not null.
        Self(self.0.map_addr(|_| unsafe { NonZero::new_unchecked(address) }))
    }

    /// Returns the place of the job below.
    ///
    /// # Safety
    ///
    /// There is one: this is not the lowest place.
    pub unsafe fn previous(self) -> Self {
        // SAFETY: by the contract the slot is inside the array.
        Self(unsafe { self.0.sub(1) })
    }

    /// Returns the place of the next job, after one at this place.
    ///
    /// # Safety
    ///
    /// This is not the end, and the stack exists.
    #[inline(always)]
    pub unsafe fn next(self) -> Self {
        // SAFETY: by the contract the slot is inside the array, or its end.
        Self(unsafe { self.0.add(1) })
    }
}
