//! A simulation that counts the bytes it has handed out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use xtasking::platform::{GlobalPages, PageSource, Pages, Platform, Simulation};

pub struct Counting {
    pub simulation: Simulation,
    pub pages: Arc<CountedPages>,
}

#[derive(Default)]
pub struct CountedPages {
    /// Bytes that are in use.
    taken: AtomicUsize,
    /// Bytes that were given back while their addresses stayed in use.
    discarded: AtomicUsize,
}

impl CountedPages {
    pub fn taken(&self) -> usize {
        self.taken.load(SeqCst)
    }

    pub fn discarded(&self) -> usize {
        self.discarded.load(SeqCst)
    }
}

// SAFETY: every call is forwarded to `GlobalPages`, which keeps the contract, or else zeroes a run.
unsafe impl PageSource for CountedPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        let pages = GlobalPages.pages(bytes, align, node, huge)?;
        self.taken.fetch_add(pages.bytes, SeqCst);
        Some(pages)
    }

    unsafe fn release(&self, pages: Pages) {
        self.taken.fetch_sub(pages.bytes, SeqCst);
        // SAFETY: the caller returns pages that it got from `pages`, which come from `GlobalPages`.
        unsafe { GlobalPages.release(pages) };
    }

    unsafe fn discard_run(&self, pages: &Pages) -> bool {
        self.discarded.fetch_add(pages.bytes, SeqCst);
        // SAFETY: nothing needs what is in the run, and no thread of this simulation reads it.
        unsafe { pages.ptr.write_bytes(0, pages.bytes) };
        true
    }
}

impl Platform for Counting {
    xtasking_testing::forward_platform!(simulation: topology start park wake join block now virtual_time);

    fn pages(&self) -> Arc<dyn PageSource> {
        self.pages.clone()
    }
}
