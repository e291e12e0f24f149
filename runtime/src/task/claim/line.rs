//! Who has a granule, and who stands in line for it.

use super::stand::Stand;
use crate::sync::{AtomicPtr, Relaxed};
use core::ptr::{NonNull, null_mut};

/// A task's place at a granule.
pub(super) struct Place {
    pub granule: u32,
    pub write: bool,
    /// The place behind it.
    next: AtomicPtr<Place>,
    /// Whose it is.
    stand: AtomicPtr<Stand>,
}

/// One granule. Whoever changes it has locked it.
#[derive(Default)]
pub(super) struct Line {
    /// Tasks that have the granule: readers, or a writer alone.
    holders: u32,
    is_written: bool,
    /// The first and the last who wait; the first of them cannot have it yet.
    ends: Option<(NonNull<Place>, NonNull<Place>)>,
}

// SAFETY: it points to places of tasks that wait, which are shared by atomics and stay where they are as long as they do.
unsafe impl Send for Line {}

impl Place {
    pub fn new(granule: u32, write: bool) -> Self {
        Self { granule, write, next: AtomicPtr::new(null_mut()), stand: AtomicPtr::new(null_mut()) }
    }

    /// Says whose it is, before it stands in any line.
    pub fn belongs_to(&self, stand: &Stand) {
        // Relaxed: the lock of its line is what shows it to others.
        self.stand.store(core::ptr::from_ref(stand).cast_mut(), Relaxed);
    }
}

/// Places of which each was granted its granule, one behind the other. Somebody has to tell their tasks.
#[must_use = "their tasks wait"]
pub(super) struct Granted(Option<NonNull<Place>>, u32);

// SAFETY: as for the line.
unsafe impl Send for Granted {}

impl Granted {
    pub fn is_empty(&self) -> bool {
        self.1 == 0
    }

    /// Calls `each` with all tasks whose places these are. A task may be gone as soon as it was told.
    pub fn for_each(self, mut each: impl FnMut(NonNull<Stand>)) {
        let Self(mut first, count) = self;
        for _ in 0..count {
            let Some(place) = first else { unreachable!("as many as were counted") };
            // SAFETY: its task waits to be told of this place, so it is still there.
            let place = unsafe { place.as_ref() };
            first = NonNull::new(place.next.load(Relaxed));
            // SAFETY: it belongs to a task, as it stood in a line.
            each(unsafe { NonNull::new_unchecked(place.stand.load(Relaxed)) });
        }
    }
}

impl Line {
    /// Takes the granule for a place. If others have it or are before it, the place is put behind them: `false`.
    pub fn enter(&mut self, place: &Place) -> bool {
        if (self.ends.is_none() || planted!("claim-overtakes")) && self.admits(place.write) {
            self.take(place.write);
            return true;
        }
        let new = NonNull::from(place);
        place.next.store(null_mut(), Relaxed);
        self.ends = match self.ends {
            Some((first, last)) => {
                // SAFETY: whoever waits stays where it is.
                unsafe { last.as_ref() }.next.store(new.as_ptr(), Relaxed);
                Some((first, new))
            }
            None => Some((new, new)),
        };
        false
    }

    /// Takes the granule for somebody who only looks at it and soon [leaves](Self::leave) it; unless it is written, or others
    /// wait for it.
    pub fn glance(&mut self) -> bool {
        let may = (self.ends.is_none() || planted!("glance-overtakes")) && self.admits(false);
        if may && !planted!("glance-uncounted") {
            self.take(false);
        }
        may
    }

    /// Gives the granule back, which is taken by those who come first now.
    pub fn leave(&mut self) -> Granted {
        self.holders -= 1;
        self.is_written &= self.holders > 0;
        let (begin, mut count) = (self.ends.map(|ends| ends.0), 0);
        while let Some((first, last)) = self.ends {
            // SAFETY: whoever waits stays where it is.
            let place = unsafe { first.as_ref() };
            if !self.admits(place.write) {
                break;
            }
            self.take(place.write);
            count += 1;
            self.ends =
                NonNull::new(place.next.load(Relaxed)).filter(|_| first != last).map(|next| (next, last));
        }
        Granted(begin, count)
    }

    fn admits(&self, write: bool) -> bool {
        if write && !planted!("claim-writer-beside-readers") { self.holders == 0 } else { !self.is_written }
    }

    fn take(&mut self, write: bool) {
        self.holders += 1;
        self.is_written = write;
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Readers go together, writers alone, and nobody overtakes.
    #[test]
    fn a_line_is_served_in_order() {
        let writes = [false, false, true, false, false, true, true, false];
        let places: Vec<Place> = writes.iter().map(|&write| Place::new(0, write)).collect();
        let mut line = Line::default();
        let entered: Vec<bool> = places.iter().map(|place| line.enter(place)).collect();
        assert_eq!(entered, [true, true, false, false, false, false, false, false]);
        let mut served = 2;
        let mut holders = 2;
        let mut groups = Vec::new();
        while holders > 0 {
            let granted = line.leave();
            holders -= 1;
            if granted.1 > 0 {
                assert_eq!(holders, 0, "those before are gone");
                holders = granted.1;
                assert!(core::ptr::eq(granted.0.unwrap().as_ptr(), &places[served as usize]));
                served += granted.1;
                groups.push(granted.1);
            }
        }
        assert_eq!(groups, [1, 2, 1, 1, 1]);
        assert!(line.enter(&places[2]) && !line.enter(&places[3]));
    }
}
