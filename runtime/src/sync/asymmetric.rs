//! The cheap side of an asymmetric fence.
//!
//! A pair of threads that each write one word and then read the other's needs a full fence on both
//! sides, or both may read old values. If one side is on a hot path and the other is rare, the rare
//! side can pay for both:
//!
//! ```text
//! hot thread:  write A    light_fence()    read B
//! rare thread: write B    barrier()        read A      -> at least one sees the other's write
//! ```
//!
//! [`Platform::barrier`](crate::platform::Platform::barrier) makes each running thread of the
//! process pass a full fence. A thread is before its light fence then, and reads B after it; or it
//! is behind, and its write of A is visible. So the light fence only keeps the compiler from moving
//! accesses across it. (Dice, Huang and Yang, "Asymmetric Dekker Synchronization", 2001; on Linux
//! `membarrier`.)

#[cfg(any(model = "loom", model = "shuttle"))]
use super::fence as light;
#[cfg(not(any(model = "loom", model = "shuttle")))]
use core::sync::atomic::compiler_fence as light;

/// The hot side: together with a barrier in another thread it acts as a sequentially consistent
/// fence. A model checker does not know of barriers and gets such a fence.
#[inline(always)]
pub(crate) fn light_fence() {
    if !planted!("light-fence-forgotten") {
        light(super::SeqCst);
    }
}
