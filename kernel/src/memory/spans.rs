//! The runs of usable memory, cut by node.

use super::PAGE;

/// A run of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first address.
    pub start: usize,
    /// The address behind the last.
    pub end: usize,
}

impl Span {
    /// Returns the part that is in both.
    pub fn common(self, other: Self) -> Self {
        Self { start: self.start.max(other.start), end: self.end.min(other.end) }
    }

    /// Returns true if there is no address in it.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Returns the whole pages in it.
    pub fn whole_pages(self) -> Self {
        Self { start: self.start.next_multiple_of(PAGE), end: self.end / PAGE * PAGE }
    }

    /// Returns the number of bytes.
    pub fn bytes(self) -> usize {
        self.end.saturating_sub(self.start)
    }
}

/// Runs of memory, each with the index of its node. There is no heap yet when they are collected.
#[derive(Debug)]
pub(crate) struct Spans {
    spans: [(Span, u16); Self::MOST],
    count: usize,
}

impl Spans {
    /// The largest number of runs. Further ones are not used.
    pub const MOST: usize = 32;

    pub const fn new() -> Self {
        Self { spans: [(Span { start: 0, end: 0 }, 0); Self::MOST], count: 0 }
    }

    /// Adds the whole pages of a run.
    pub fn add(&mut self, span: Span, node: u16) {
        let span = span.whole_pages();
        if !span.is_empty() && self.count < Self::MOST {
            self.spans[self.count] = (span, node);
            self.count += 1;
        }
    }

    /// Returns the runs with their nodes.
    pub fn iter(&self) -> impl Iterator<Item = (Span, u16)> + '_ {
        self.spans[..self.count].iter().copied()
    }

    /// Takes a run away from the beginnings of others.
    pub fn take_beginning(&mut self, taken: Span) {
        for (span, _) in &mut self.spans[..self.count] {
            if taken.start <= span.start && span.start < taken.end {
                span.start = taken.end.min(span.end);
            }
        }
    }

    /// Cuts a run of memory at the borders of the nodes, and adds its parts to `parts`. What no
    /// node has is the first node's.
    pub fn cut(&self, span: Span, parts: &mut Self) {
        let mut rest = span.whole_pages();
        while !rest.is_empty() {
            // The node that has the beginning, or the next border before which none has it.
            let owner = self.iter().find(|(owner, _)| owner.start <= rest.start && rest.start < owner.end);
            let next = self.iter().map(|(owner, _)| owner.start).filter(|&start| start > rest.start).min();
            let (end, node) = match owner {
                Some((owner, node)) => (owner.end, node),
                None => (next.unwrap_or(usize::MAX), 0),
            };
            let end = end.min(rest.end);
            parts.add(Span { start: rest.start, end }, node);
            rest.start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: usize, end: usize) -> Span {
        Span { start: start * PAGE, end: end * PAGE }
    }

    #[test]
    fn memory_is_cut_at_the_borders_of_nodes() {
        let (mut nodes, mut parts) = (Spans::new(), Spans::new());
        nodes.add(span(0, 10), 0);
        nodes.add(span(10, 20), 1);
        nodes.add(span(25, 40), 2);
        nodes.cut(span(5, 30), &mut parts);
        let expected = [(span(5, 10), 0), (span(10, 20), 1), (span(20, 25), 0), (span(25, 30), 2)];
        assert!(parts.iter().eq(expected), "{parts:?}");
    }

    #[test]
    fn what_is_taken_is_no_longer_there() {
        let mut spans = Spans::new();
        spans.add(span(5, 10), 1);
        spans.add(span(20, 30), 0);
        spans.take_beginning(span(5, 7));
        assert!(spans.iter().eq([(span(7, 10), 1), (span(20, 30), 0)]));
        spans.take_beginning(span(2, 12));
        assert!(spans.iter().next().is_some_and(|(span, _)| span.is_empty()));
    }

    #[test]
    fn parts_of_pages_are_left_out() {
        let mut parts = Spans::new();
        Spans::new().cut(Span { start: 1, end: 3 * PAGE - 1 }, &mut parts);
        assert!(parts.iter().eq([(span(1, 2), 0)]));
        parts.add(Span { start: 5, end: PAGE }, 0);
        assert_eq!(parts.iter().count(), 1);
    }
}
