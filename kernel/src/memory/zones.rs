//! All zones, by node and by address. They are filled once, before other cores start.

use super::zone::{ORDERS, Zone};
use super::{PAGE, Span, Spans};
use crate::lock::SpinLock;
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// A zone with what is known of it without its lock.
pub(super) struct ZoneSlot {
    start: AtomicUsize,
    end: AtomicUsize,
    node: AtomicUsize,
    zone: SpinLock<Option<Zone>>,
    /// Free blocks smaller than a page, by size.
    pub blocks: super::heap::BlockLists,
}

impl ZoneSlot {
    const fn new() -> Self {
        Self {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            node: AtomicUsize::new(0),
            zone: SpinLock::new(None),
            blocks: super::heap::BlockLists::new(),
        }
    }

    /// Takes 2^`order` frames.
    pub fn take(&self, order: usize) -> Option<usize> {
        self.zone.with(|zone| zone.as_mut()?.take(order))
    }

    /// Puts a part of a block back.
    ///
    /// # Safety
    ///
    /// As for [`Zone::put_back_part`].
    unsafe fn put_back_part(&self, address: usize, frames: usize) {
        self.zone.with(|zone| {
            if let Some(zone) = zone {
                // SAFETY: the caller's promise.
                unsafe { zone.put_back_part(address, frames) };
            }
        });
    }
}

static ZONES: [ZoneSlot; Spans::MOST] = [const { ZoneSlot::new() }; Spans::MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Makes a zone of each run.
///
/// # Safety
///
/// The first core calls it, once and alone. The runs are mapped, and nothing else uses them.
pub(crate) unsafe fn fill(spans: &Spans) {
    for (span, node) in spans.iter() {
        // SAFETY: the caller's promise.
        let Some(zone) = (unsafe { Zone::new(span) }) else { continue };
        let slot = &ZONES[COUNT.load(Relaxed)];
        slot.start.store(span.start, Relaxed);
        slot.end.store(span.end, Relaxed);
        slot.node.store(usize::from(node), Relaxed);
        slot.zone.with(|place| *place = Some(zone));
        // Release pairs with the Acquire of `all`.
        COUNT.fetch_add(1, Release);
    }
}

fn all() -> &'static [ZoneSlot] {
    &ZONES[..COUNT.load(Acquire)]
}

/// Returns the zones of a node first, and then all others.
pub(super) fn from_node(node: u16) -> impl Iterator<Item = &'static ZoneSlot> {
    let is_own = move |zone: &&ZoneSlot| zone.node.load(Relaxed) == usize::from(node);
    all().iter().filter(is_own).chain(all().iter().filter(move |zone| !is_own(zone)))
}

/// Returns the zone that an address is in.
pub(super) fn of(address: usize) -> Option<&'static ZoneSlot> {
    let is_inside = |zone: &&ZoneSlot| (zone.start.load(Relaxed)..zone.end.load(Relaxed)).contains(&address);
    all().iter().find(is_inside)
}

/// Returns the order of a block of at least this many bytes; `None` if that is too large.
pub(super) fn order_of(bytes: usize) -> Option<usize> {
    let order = bytes.checked_next_power_of_two()?.max(PAGE).ilog2() - PAGE.ilog2();
    Some(order as usize).filter(|&order| order < ORDERS)
}

/// Takes 2^`order` frames, on this node if it has them. Returns their address.
pub(crate) fn take(order: usize, node: u16) -> Option<usize> {
    from_node(node).find_map(|zone| zone.take(order))
}

/// Puts frames back.
///
/// # Safety
///
/// As for [`Zone::put_back_part`].
pub(super) unsafe fn put_back_part(address: usize, frames: usize) {
    if let Some(zone) = of(address) {
        // SAFETY: the caller's promise; a block is in one zone.
        unsafe { zone.put_back_part(address, frames) };
    }
}

/// Returns the bytes that are free now.
pub(crate) fn free_bytes() -> usize {
    let free = |zone: &ZoneSlot| zone.zone.with(|zone| zone.as_ref().map_or(0, Zone::free));
    all().iter().map(free).sum::<usize>() * PAGE
}

/// Returns the bytes of all zones.
pub(crate) fn all_bytes() -> usize {
    let span = |zone: &ZoneSlot| Span { start: zone.start.load(Relaxed), end: zone.end.load(Relaxed) };
    all().iter().map(|zone| span(zone).bytes()).sum()
}

/// Returns the node of the memory at an address.
pub(crate) fn node_of(address: usize) -> Option<u16> {
    of(address).map(|zone| zone.node.load(Relaxed) as u16)
}
