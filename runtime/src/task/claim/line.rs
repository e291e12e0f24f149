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
    /// How many tasks have written it, or do.
    writes: u64,
    /// How many readers have overtaken writers, who stand in line or hope for it, since it was last written.
    overtaken: u32,
    /// Those who stand in line; the first of them cannot have it yet.
    waiting: Queue,
    /// Readers and writers who hope for it.
    hopeful: [Queue; 2],
}

/// Places of which each points to the one that came after it.
#[derive(Default)]
struct Queue {
    ends: Option<(NonNull<Place>, NonNull<Place>)>,
}

// SAFETY: it points to places of tasks that wait, which are shared by atomics and stay where they are as long as they do.
unsafe impl Send for Queue {}

impl Place {
    pub fn new(granule: u32, write: bool) -> Self {
        Self { granule, write, next: AtomicPtr::new(null_mut()), stand: AtomicPtr::new(null_mut()) }
    }

    /// Says whose it is, before it stands in any line.
    pub fn belongs_to(&self, stand: &Stand) {
        // Relaxed, as all here: the lock of its line is what shows it to others.
        self.stand.store(core::ptr::from_ref(stand).cast_mut(), Relaxed);
    }

    /// Whose it is, as it stands in a line.
    fn stand(&self) -> NonNull<Stand> {
        // SAFETY: it was said before.
        unsafe { NonNull::new_unchecked(self.stand.load(Relaxed)) }
    }
}

impl Queue {
    fn push(&mut self, place: &Place) {
        // SAFETY: whoever waits stays where it is.
        unsafe { self.append(NonNull::from(place)) };
    }

    /// # Safety
    ///
    /// The place is in no other queue, and stays where it is as long as it is in this one, like those that are in it.
    unsafe fn append(&mut self, place: NonNull<Place>) {
        // SAFETY: by the caller's promise.
        unsafe { place.as_ref() }.next.store(null_mut(), Relaxed);
        self.ends = match self.ends {
            Some((first, last)) => {
                // SAFETY: as above.
                unsafe { last.as_ref() }.next.store(place.as_ptr(), Relaxed);
                Some((first, place))
            }
            None => Some((place, place)),
        };
    }

    fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    fn first(&self) -> Option<&Place> {
        // SAFETY: whoever waits stays where it is.
        self.ends.map(|(first, _)| unsafe { first.as_ref() })
    }

    fn pop(&mut self) -> Option<NonNull<Place>> {
        let (first, last) = self.ends?;
        // SAFETY: whoever waits stays where it is.
        let next = NonNull::new(unsafe { first.as_ref() }.next.load(Relaxed));
        self.ends = next.map(|next| (next, last));
        Some(first)
    }
}

/// Places that stand in no line any more. Somebody has to tell their tasks.
#[derive(Default)]
#[must_use = "their tasks wait"]
pub(super) struct Granted(Queue);

impl Granted {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Moves the first place of a queue here.
    fn take_from(&mut self, queue: &mut Queue) {
        if let Some(place) = queue.pop() {
            // SAFETY: it has left its queue, and its task waits until it is told so.
            unsafe { self.0.append(place) };
        }
    }

    fn take_all(&mut self, queue: &mut Queue) {
        while !queue.is_empty() {
            self.take_from(queue);
        }
    }

    /// Calls `each` with all tasks whose places these are. A task may be gone as soon as it was told.
    pub fn for_each(mut self, mut each: impl FnMut(NonNull<Stand>)) {
        while let Some(place) = self.0.pop() {
            // SAFETY: its task waits to be told of this place, so it is still there.
            each(unsafe { place.as_ref() }.stand());
        }
    }
}

impl Line {
    /// Takes the granule for a place. If others have it or are before it, the place is put behind them: `false`.
    pub fn enter(&mut self, place: &Place) -> bool {
        if (self.waiting.is_empty() || planted!("claim-overtakes")) && self.admits(place.write) {
            self.overtake(place.write);
            return true;
        }
        self.waiting.push(place);
        false
    }

    /// Takes the granule for somebody who only looks at it and soon [leaves](Self::leave) it; unless it is written, or others
    /// wait for it.
    pub fn glance(&mut self) -> bool {
        let may = (self.waiting.is_empty() || planted!("glance-overtakes")) && self.admits(false);
        if may && !planted!("glance-uncounted") {
            self.take(false);
        }
        may
    }

    /// Whether somebody may take it who does not stand in line. Of readers so many may do so before writers who wait have their
    /// turn.
    pub fn may_be_taken(&self, write: bool, most: u32) -> bool {
        let overtakes = !self.waiting.is_empty() || !write && !self.hopeful[1].is_empty();
        let may_overtake = !write && self.overtaken < most || planted!("writers-overtaken-for-ever");
        self.admits(write) && (!overtakes || may_overtake)
    }

    /// Takes it, if others wait for it or not.
    pub fn overtake(&mut self, write: bool) {
        self.take(write);
        if !write && (!self.waiting.is_empty() || !self.hopeful[1].is_empty()) {
            self.overtaken += 1;
        }
    }

    /// Has somebody told when it is worth trying again.
    pub fn hope(&mut self, place: &Place) {
        self.hopeful[usize::from(place.write)].push(place);
    }

    /// Tells those who hope for the granule and can have it, if nobody else will: the first writer; if there is none, the readers.
    /// Whoever is told so has nothing, and tells others if that one does not take it.
    pub fn tell_hopeful(&mut self, granted: &mut Granted) {
        if !self.waiting.is_empty() || planted!("hopeful-forgotten") {
            return;
        }
        let may_be_read = self.admits(false);
        let [readers, writers] = &mut self.hopeful;
        if !writers.is_empty() {
            if self.holders == 0 {
                granted.take_from(writers);
            }
        } else if may_be_read {
            granted.take_all(readers);
        }
    }

    /// How many tasks have written it; `None`: one does.
    pub fn version(&self) -> Option<u64> {
        (!self.is_written).then_some(self.writes)
    }

    /// Gives the granule back, which is taken by those who come first now; if there are none, those who hope for it are told.
    pub fn leave(&mut self) -> Granted {
        let mut granted = Granted::default();
        self.pass_on(&mut granted);
        self.tell_hopeful(&mut granted);
        granted
    }

    /// The same at the end of a task. What it has written may be read next by those who have hoped for that, so many of them; and
    /// then comes a writer again. (As in locks that are phase-fair: Brandenburg, Anderson, "Spin-Based Reader-Writer
    /// Synchronization for Multiprocessor Real-Time Systems", Real-Time Systems 46, 2010, section 3.)
    ///
    /// Where others stand in line, or readers come one after the other, those who hope are told in vain, until they have tried so often
    /// that they stand in line as well.
    pub fn leave_at_end(&mut self, most: u32) -> Granted {
        let mut granted = Granted::default();
        let was_written = self.is_written;
        self.pass_on(&mut granted);
        // Those who mind no order stop at `most`.
        let are_many = self.holders > 0 && self.waiting.is_empty() && self.overtaken >= 2 * most;
        let [readers, writers] = &mut self.hopeful;
        if (!granted.is_empty() || are_many) && !planted!("hopeful-starved") {
            granted.take_from(writers);
        }
        if was_written && (!self.is_written || !planted!("hopeful-starved")) {
            (0..most).for_each(|_| granted.take_from(readers));
        }
        if granted.is_empty() {
            self.tell_hopeful(&mut granted);
        }
        granted
    }

    /// Gives the granule back to those who stand in line.
    fn pass_on(&mut self, granted: &mut Granted) {
        self.holders -= 1;
        self.is_written &= self.holders > 0;
        while let Some(&Place { write, .. }) = self.waiting.first()
            && self.admits(write)
        {
            self.take(write);
            granted.take_from(&mut self.waiting);
        }
    }

    fn admits(&self, write: bool) -> bool {
        if write && !planted!("claim-writer-beside-readers") { self.holders == 0 } else { !self.is_written }
    }

    fn take(&mut self, write: bool) {
        self.holders += 1;
        self.is_written = write;
        if write {
            self.overtaken = 0;
            self.writes += u64::from(!planted!("writes-uncounted"));
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Places for readers and writers, each as if it were of a task by itself.
    fn places(writes: &[bool]) -> Vec<Place> {
        let places: Vec<Place> = writes.iter().map(|&write| Place::new(0, write)).collect();
        for place in &places {
            // Only its address matters.
            place.stand.store(core::ptr::from_ref(place).cast_mut().cast(), Relaxed);
        }
        places
    }

    fn told(granted: Granted) -> Vec<NonNull<Stand>> {
        let mut stands = Vec::new();
        granted.for_each(|stand| stands.push(stand));
        stands
    }

    /// Readers go together, writers alone, and nobody overtakes.
    #[test]
    fn a_line_is_served_in_order() {
        let places = places(&[false, false, true, false, false, true, true, false]);
        let stand = |at: usize| places[at].stand();
        let mut line = Line::default();
        let entered: Vec<bool> = places.iter().map(|place| line.enter(place)).collect();
        assert_eq!(entered, [true, true, false, false, false, false, false, false]);
        let groups = [&[0, 1][..], &[2], &[3, 4], &[5], &[6], &[7]];
        for (group, next) in groups.iter().zip(&groups[1..]) {
            for _ in 1..group.len() {
                assert!(line.leave().is_empty(), "others have it still");
            }
            assert_eq!(told(line.leave()), next.iter().map(|&at| stand(at)).collect::<Vec<_>>());
        }
        assert!(line.leave().is_empty());
        assert!(line.enter(&places[2]) && !line.enter(&places[3]));
    }

    /// Between two writers, so many readers overtake the second; the others are told when there is no other writer.
    #[test]
    fn some_readers_overtake_writers() {
        let places = places(&[true, true, true, false, false, false]);
        let stand = |at: usize| places[at].stand();
        let mut line = Line::default();
        line.overtake(true);
        assert!(!line.may_be_taken(false, 2));
        places[1..].iter().for_each(|place| line.hope(place));
        assert_eq!(told(line.leave_at_end(2)), [stand(3), stand(4)]);
        for _ in 0..2 {
            assert!(line.may_be_taken(false, 2));
            line.overtake(false);
        }
        assert!(!line.may_be_taken(false, 2), "the next writer has to have its turn");
        assert!(line.leave_at_end(2).is_empty());
        assert_eq!(told(line.leave_at_end(2)), [stand(1)]);
        assert!(line.may_be_taken(true, 2) && !line.may_be_taken(false, 2));
        line.overtake(true);
        assert_eq!(told(line.leave_at_end(2)), [stand(5)]);
        // That one has taken something else, or failed.
        let mut others = Granted::default();
        line.tell_hopeful(&mut others);
        assert_eq!(told(others), [stand(2)]);
        line.overtake(true);
        line.hope(&places[3]);
        line.hope(&places[4]);
        assert_eq!(told(line.leave()), [stand(3), stand(4)], "all, as no writer hopes for it");
        assert!(line.enter(&places[0]) && line.leave_at_end(2).is_empty(), "nobody has hoped for it");
    }

    /// They try in vain then, and stand in line when they have done so often.
    #[test]
    fn who_hopes_is_told_as_well_where_others_stand_in_line() {
        let places = places(&[true, true, false, true, false, false]);
        let stand = |at: usize| places[at].stand();
        let mut line = Line::default();
        assert!(line.enter(&places[0]));
        assert!(!line.enter(&places[1]) && !line.enter(&places[2]));
        places[3..].iter().for_each(|place| line.hope(place));
        assert_eq!(told(line.leave_at_end(1)), [stand(1), stand(3), stand(4)]);
        assert_eq!(told(line.leave_at_end(1)), [stand(2), stand(5)]);
        assert!(line.may_be_taken(false, 1) && !line.may_be_taken(true, 1));
        assert!(line.leave_at_end(1).is_empty());
    }

    #[test]
    fn who_hopes_to_write_is_told_as_well_where_readers_come_one_after_the_other() {
        let places = places(&[false, true, false]);
        let mut line = Line::default();
        assert!(line.enter(&places[0]));
        line.hope(&places[1]);
        assert!(line.enter(&places[2]) && line.leave_at_end(1).is_empty());
        assert!(line.enter(&places[0]));
        assert_eq!(told(line.leave_at_end(1)), [places[1].stand()]);
    }

    /// There are more of them than are told at once, and others beside whom they can have it.
    #[test]
    fn readers_are_told_beside_others() {
        let places = places(&[false, false, false]);
        let mut line = Line::default();
        line.overtake(true);
        places.iter().for_each(|place| line.hope(place));
        assert_eq!(told(line.leave_at_end(1)), [places[0].stand()]);
        line.overtake(false);
        line.overtake(false);
        assert_eq!(told(line.leave_at_end(1)), [places[1].stand(), places[2].stand()]);
    }
}
