//! Stacks, each with an unmapped gap below: a task that recurses too deep ends in a report.
//!
//! Each core has 16 MiB of addresses of its own, far from all other memory:
//!
//! | from | what |
//! |---|---|
//! | 0 | nothing: the gap below the stack |
//! | 4 MiB | the stack of its tasks, [`STACK`] bytes in large pages |
//! | 8 MiB | nothing |
//! | 10 MiB | its stacks for interrupts: the upper half of each 64 KiB |

use super::paging::{self, Use};
use super::{LARGE_PAGE, PAGE, zones};
use crate::cpu::tables::INTERRUPT_STACKS;
use core::ptr::with_exposed_provenance_mut;

/// Bytes of the stack on which a core runs tasks.
pub(crate) const STACK: usize = 2 * LARGE_PAGE;
/// Where the stacks are.
const REGION: usize = 0x7000_0000_0000;
/// Addresses of a core.
const STRIDE: usize = 16 << 20;
const STACK_START: usize = 4 << 20;
const INTERRUPTS_START: usize = 10 << 20;
const INTERRUPT_STRIDE: usize = 64 << 10;
/// Bytes of a stack for interrupts.
const INTERRUPT_STACK: usize = INTERRUPT_STRIDE / 2;

/// The stacks of a core: their upper ends.
pub(crate) struct CoreStacks {
    /// The stack of its tasks.
    pub tasks: *mut u8,
    /// The stacks of its interrupts.
    pub interrupts: [*mut u8; INTERRUPT_STACKS],
}

/// Maps the stacks of a core, on its node if that has memory. Returns `None` if no memory is left.
///
/// # Safety
///
/// The first core calls it, once for each core.
pub(crate) unsafe fn make(index: usize, node: u16) -> Option<CoreStacks> {
    let base = REGION + index * STRIDE;
    let mut table = || zones::take(0, node).expect("memory for page tables");
    for at in (0..STACK).step_by(LARGE_PAGE) {
        let frame = zones::take(LARGE_PAGE.ilog2() as usize - PAGE.ilog2() as usize, node)?;
        paging::map(base + STACK_START + at, frame, LARGE_PAGE, Use::Write, &mut table);
    }
    let interrupts = core::array::from_fn(|number| base + INTERRUPTS_START + (number + 1) * INTERRUPT_STRIDE);
    for top in interrupts {
        for at in (top - INTERRUPT_STACK..top).step_by(PAGE) {
            paging::map(at, zones::take(0, node)?, PAGE, Use::Write, &mut table);
        }
    }
    Some(CoreStacks {
        tasks: with_exposed_provenance_mut(base + STACK_START + STACK),
        interrupts: interrupts.map(with_exposed_provenance_mut),
    })
}

/// Returns the core in the gap below whose stack an address is.
pub(crate) fn overflowed(address: usize) -> Option<usize> {
    let offset = address.checked_sub(REGION)?;
    let (core, at) = (offset / STRIDE, offset % STRIDE);
    (core < crate::MAX_CORES && at < STACK_START).then_some(core)
}
