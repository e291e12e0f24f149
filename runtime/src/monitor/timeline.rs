//! The timeline: the last events of each worker, as a file that Perfetto opens.

use super::observer::OUTSIDE;
use super::{Observer, Touched};
use crate::object::ObjectNames;
use crate::sync::SpinMutex;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::mem::take;
use core::time::Duration;

/// Something that a worker did, in ticks of the observer's clock.
#[derive(Clone)]
pub(crate) struct Event {
    pub what: What,
    pub begin: u64,
    pub end: u64,
}

/// What a worker can do.
#[derive(Clone)]
pub(crate) enum What {
    /// It ran a task.
    Task(Ran),
    /// It ran a half of a join that it had taken from another worker.
    Half,
    /// It slept.
    Sleep,
}

/// The run of a task.
#[derive(Clone)]
pub(crate) struct Ran {
    pub name: &'static str,
    /// Its first object; the others are separate, as few tasks have several.
    pub object: Option<Touched>,
    pub others: Box<[Touched]>,
    /// When the task was spawned, and by which worker.
    pub spawned: u64,
    pub by: u32,
    /// How long it had waited in the run queue.
    pub waited: u64,
    /// How often it had to wait at a latch.
    pub latch_waits: u64,
    /// Whether it finished, and was not put back.
    pub finished: bool,
    /// The number of tasks in the run queue when it began.
    pub depth: usize,
}

/// The last events of a worker.
pub(crate) struct Events {
    kept: VecDeque<Event>,
    /// The number of the first of them, among all events of the worker.
    first: u64,
    capacity: usize,
    dropped: u64,
}

/// Events that are copied while their worker may have to wait.
const COPIED_EVENTS: usize = 1 << 10;

impl Default for Events {
    /// A buffer for no event.
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl Events {
    /// Creates a buffer for up to `capacity` events, with memory for `expected` of them.
    pub fn new(capacity: usize, expected: usize) -> Self {
        Self { kept: VecDeque::with_capacity(expected), first: 0, capacity, dropped: 0 }
    }

    /// Removes all events, with their memory.
    pub fn take(&mut self) -> VecDeque<Event> {
        self.first += self.kept.len() as u64;
        self.dropped = 0;
        take(&mut self.kept)
    }

    pub fn push(&mut self, event: Event) {
        if self.kept.len() == self.capacity {
            self.kept.pop_front();
            self.first += 1;
            self.dropped += 1;
        }
        self.kept.push_back(event);
    }
}

/// The last events of a runtime's workers; see [`Runtime::timeline`](crate::Runtime::timeline).
///
/// `Display` writes a file for [Perfetto](https://ui.perfetto.dev): JSON in the Trace Event Format.
/// Each worker has a track with its tasks, its sleeps, and the halves of joins that it took from
/// others. A task has its name, objects and waits, and whether it was put back to run again. Arrows
/// lead from the spawn of a task to its run. A curve shows the length of each run queue.
///
/// ```
/// use std::io::Write;
/// use xtasking::{Runtime, Shutdown};
///
/// let rt = Runtime::builder().workers(2).timeline(1000).build()?;
/// rt.task(()).submit(|(), _| ()).join()?;
/// let mut file = Vec::new();
/// write!(file, "{}", rt.timeline().expect("asked for"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Timeline {
    tracks: Vec<Vec<Event>>,
    dropped: u64,
    began: u64,
    scale: f64,
}

/// Copies the events that are kept now and have ended since that moment, and returns how many were
/// dropped. The worker waits for a part of them at most; the first ones may be dropped meanwhile.
fn copy(events: &SpinMutex<Events>, since: u64) -> (Vec<Event>, u64) {
    let (mut next, end, dropped) = {
        let events = events.lock();
        (events.first, events.first + events.kept.len() as u64, events.dropped)
    };
    let mut copied = Vec::new();
    while next < end {
        // Room for them outside the lock.
        copied.reserve(COPIED_EVENTS);
        let events = events.lock();
        next = next.max(events.first).min(end);
        let before = (next - events.first.min(next)) as usize;
        let most = COPIED_EVENTS.min((end - next) as usize);
        let part = events.kept.iter().skip(before).take(most);
        copied.extend(part.filter(|event| event.end >= since).cloned());
        next += most as u64;
    }
    (copied, dropped)
}

impl Timeline {
    /// Returns the events that have ended since that moment.
    pub(crate) fn of(observer: &Observer, since: u64) -> Self {
        let mut dropped = 0;
        let mut tracks = Vec::new();
        for record in &observer.records {
            let (track, lacking) = copy(&record.0.events, since);
            dropped += lacking;
            tracks.push(track);
        }
        Self { tracks, dropped, began: observer.clock.began(), scale: observer.clock.scale() }
    }

    /// Returns the events of the last `span`. Looks names of objects up where they lack.
    pub(crate) fn last(observer: &Observer, span: Duration, names: &ObjectNames) -> Self {
        let ticks = span.as_nanos() as f64 / observer.clock.scale().max(f64::MIN_POSITIVE);
        let mut last = Self::of(observer, observer.clock.now().saturating_sub(ticks as u64));
        for event in last.tracks.iter_mut().flatten() {
            if let What::Task(ran) = &mut event.what {
                let objects = ran.object.iter_mut().chain(&mut ran.others);
                objects.for_each(|object| object.name = object.name.or_else(|| names.get(object.address)));
            }
        }
        last
    }

    /// Returns the number of events.
    pub fn events(&self) -> usize {
        self.tracks.iter().map(Vec::len).sum()
    }

    /// Returns how many older events were dropped for lack of room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the time since the beginning, in microseconds.
    fn time(&self, ticks: u64) -> Microseconds {
        self.span(ticks.saturating_sub(self.began))
    }

    fn span(&self, ticks: u64) -> Microseconds {
        Microseconds((ticks as f64 * self.scale) as u64)
    }

    fn write_task(&self, f: &mut fmt::Formatter<'_>, tid: usize, event: &Event, ran: &Ran) -> fmt::Result {
        let (begin, time) = (self.time(event.begin), self.span(event.end - event.begin));
        let name = Quoted(ran.name);
        write!(f, r#"{{"ph":"X","cat":"task","name":{name},"pid":1,"tid":{tid},"ts":{begin},"dur":{time},"#)?;
        write!(f, r#""args":{{"waited µs":{},"latch waits":{}"#, self.span(ran.waited), ran.latch_waits)?;
        write!(f, r#","put back":{}"#, !ran.finished)?;
        for (number, object) in ran.object.iter().chain(&ran.others).enumerate() {
            write!(f, r#","object {number}":{}"#, Quoted(object))?;
        }
        f.write_str("}}")?;
        let pool = tid - 1;
        write!(
            f,
            ",\n{{\"ph\":\"C\",\"name\":\"pool {pool}\",\"pid\":1,\"ts\":{begin},\"args\":{{\"tasks\":{}}}}}",
            ran.depth
        )
    }

    /// Writes an arrow from the spawn of a task to its run.
    fn write_arrow(
        &self,
        f: &mut fmt::Formatter<'_>,
        id: usize,
        tid: usize,
        event: &Event,
        ran: &Ran,
    ) -> fmt::Result {
        let (from, to) = (self.time(ran.spawned), self.time(event.begin));
        let spawner = ran.by as usize + 1;
        let common = format_args!(r#""cat":"spawn","name":"spawn","id":{id},"pid":1"#);
        write!(f, ",\n{{\"ph\":\"s\",{common},\"tid\":{spawner},\"ts\":{from}}}")?;
        write!(f, ",\n{{\"ph\":\"f\",\"bp\":\"e\",{common},\"tid\":{tid},\"ts\":{to}}}")
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            r#"{{"displayTimeUnit":"ns","otherData":{{"events dropped":{}}},"traceEvents":["#,
            self.dropped
        )?;
        f.write_str("\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"xtasking\"}}")?;
        let mut id = 0;
        for (worker, events) in self.tracks.iter().enumerate() {
            // Thread 0 would be the process itself.
            let tid = worker + 1;
            write!(f, ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":{tid},")?;
            write!(f, "\"args\":{{\"name\":\"worker {worker}\"}}}}")?;
            for event in events {
                f.write_str(",\n")?;
                let name = match &event.what {
                    What::Task(ran) => {
                        self.write_task(f, tid, event, ran)?;
                        if ran.by != OUTSIDE {
                            id += 1;
                            self.write_arrow(f, id, tid, event, ran)?;
                        }
                        continue;
                    }
                    What::Half => "half of a join, stolen",
                    What::Sleep => "sleep",
                };
                let (begin, time) = (self.time(event.begin), self.span(event.end - event.begin));
                write!(f, r#"{{"ph":"X","cat":"worker","name":"{name}","pid":1,"tid":{tid},"#)?;
                write!(f, r#""ts":{begin},"dur":{time}}}"#)?;
            }
        }
        f.write_str("\n]}\n")
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline")
            .field("events", &self.events())
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

/// Nanoseconds, written as microseconds.
struct Microseconds(u64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A text as a JSON string.
struct Quoted<T>(T);

impl<T: fmt::Display> fmt::Display for Quoted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        f.write_char('"')?;
        write!(Escaping(f), "{}", self.0)?;
        f.write_char('"')
    }
}

/// Escapes what must not be between quotes.
struct Escaping<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(|char: char| matches!(char, '"' | '\\' | '\0'..='\x1f')) {
            let last = part.chars().next_back().filter(|char| matches!(char, '"' | '\\' | '\0'..='\x1f'));
            let Some(last) = last else {
                self.0.write_str(part)?;
                continue;
            };
            // All of these are one byte long.
            self.0.write_str(&part[..part.len() - 1])?;
            write!(self.0, "\\u{:04x}", u32::from(last))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(format!("{}", Quoted("a::{{closure}}")), r#""a::{{closure}}""#);
        assert_eq!(format!("{}", Quoted("\"a\\b\nµ\"")), r#""\u0022a\u005cb\u000aµ\u0022""#);
        assert_eq!(format!("{} {}", Microseconds(5), Microseconds(1_234_567)), "0.005 1234.567");
    }

    /// As the builder's documentation says.
    #[test]
    fn an_event_is_small() {
        assert!(size_of::<Event>() <= 136, "{}", size_of::<Event>());
    }

    #[test]
    fn the_oldest_events_are_dropped() {
        let mut events = Events::new(3, 3);
        (0..10).for_each(|begin| events.push(Event { what: What::Sleep, begin, end: begin }));
        assert_eq!(events.kept.iter().map(|event| event.begin).collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!(events.dropped, 7);
    }

    #[test]
    fn events_are_copied_part_by_part() {
        let all = 2 * COPIED_EVENTS as u64 + 100;
        let events = SpinMutex::new(Events::new(all as usize - 10, 0));
        let push = |begin| events.lock().push(Event { what: What::Sleep, begin, end: begin });
        for round in 0..2 {
            (0..all).for_each(push);
            let (copied, dropped) = copy(&events, 20);
            assert_eq!(dropped, 10, "round {round}");
            assert!(copied.iter().map(|event| event.begin).eq(20..all), "round {round}");
            assert_eq!(events.lock().take().len() as u64, all - 10);
        }
        assert_eq!(copy(&events, 0).0.len(), 0);
    }
}
