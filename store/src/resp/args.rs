//! Requests in a buffer, and the arguments of one of them.

use std::ops::{Index, Range};

/// Parsed requests of one connection, in order. They share the buffer that was received: an
/// argument is a range of it.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    buffer: Vec<u8>,
    /// The arguments of all requests, one request after another.
    ranges: Vec<Range<usize>>,
    /// For each request, the number of ranges up to its end.
    ends: Vec<usize>,
}

/// The arguments of one request, its command's name first. A copy costs two slices.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    buffer: &'a [u8],
    ranges: &'a [Range<usize>],
}

impl Requests {
    /// Makes requests of a buffer and the ranges of their arguments.
    pub(super) fn from_parts(buffer: Vec<u8>, ranges: Vec<Range<usize>>, ends: Vec<usize>) -> Self {
        Self { buffer, ranges, ends }
    }

    /// Returns how many bytes of memory it has.
    pub(crate) fn memory(&self) -> usize {
        let (ranges, ends) = (self.ranges.capacity(), self.ends.capacity());
        self.buffer.capacity() + ranges * size_of::<Range<usize>>() + ends * size_of::<usize>()
    }

    /// Returns the memory: the buffer, the ranges of arguments, and their number at each request's
    /// end.
    pub(super) fn into_parts(self) -> (Vec<u8>, Vec<Range<usize>>, Vec<usize>) {
        (self.buffer, self.ranges, self.ends)
    }

    /// Makes one request of its arguments.
    ///
    /// ```
    /// use xtasking_store::resp::Requests;
    ///
    /// let requests = Requests::one(["SET", "key", "value"]);
    /// assert_eq!(&requests.args(0)[1], b"key");
    /// ```
    pub fn one<A: AsRef<[u8]>>(args: impl IntoIterator<Item = A>) -> Self {
        let mut requests = Self::default();
        requests.push(args);
        requests
    }

    /// Appends a request.
    pub fn push<A: AsRef<[u8]>>(&mut self, args: impl IntoIterator<Item = A>) {
        for arg in args {
            let start = self.buffer.len();
            self.buffer.extend_from_slice(arg.as_ref());
            self.ranges.push(start..self.buffer.len());
        }
        self.ends.push(self.ranges.len());
    }

    /// Removes the first requests. Their bytes stay.
    pub(crate) fn remove_first(&mut self, count: usize) {
        let Some(last) = count.checked_sub(1) else { return };
        let ranges = self.ends[last];
        self.ranges.drain(..ranges);
        self.ends.drain(..count);
        self.ends.iter_mut().for_each(|end| *end -= ranges);
    }

    /// Removes all requests.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.ranges.clear();
        self.ends.clear();
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of bytes that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Returns true if there is no request.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the arguments of a request.
    ///
    /// # Panics
    ///
    /// If there is no request of this index.
    pub fn args(&self, index: usize) -> Args<'_> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Args { buffer: &self.buffer, ranges: &self.ranges[start..self.ends[index]] }
    }
}

impl<'a> Args<'a> {
    /// Returns the number of arguments, the command's name included.
    pub fn len(self) -> usize {
        self.ranges.len()
    }

    /// Returns true if there are no arguments, not even a name.
    pub fn is_empty(self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns an argument; `None` if there are fewer.
    pub fn get(self, index: usize) -> Option<&'a [u8]> {
        self.ranges.get(index).map(|range| &self.buffer[range.clone()])
    }

    /// Returns an argument that the arity of the command promises. Other than by an index, the
    /// argument outlives this copy of `Args`.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn at(self, index: usize) -> &'a [u8] {
        &self.buffer[self.ranges[index].clone()]
    }

    /// Returns the number of bytes from the first argument to the last one.
    #[inline]
    pub(crate) fn extent(self) -> usize {
        let [first, .., last] = self.ranges else { return self.get(0).map_or(0, <[u8]>::len) };
        last.end.saturating_sub(first.start)
    }

    /// Returns the number of bytes of the requests that came with this one.
    pub(crate) fn buffer_bytes(self) -> usize {
        self.buffer.len()
    }

    /// Returns the arguments from this index on; none if there are not so many.
    pub fn skip(self, count: usize) -> Self {
        Self { buffer: self.buffer, ranges: self.ranges.get(count..).unwrap_or_default() }
    }

    /// Returns the first arguments, this many at most.
    pub fn take(self, count: usize) -> Self {
        Self { buffer: self.buffer, ranges: &self.ranges[..count.min(self.ranges.len())] }
    }

    /// Iterates over the arguments.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a [u8]> + ExactSizeIterator + Clone {
        self.ranges.iter().map(move |range| &self.buffer[range.clone()])
    }

    /// Returns true if the argument is there and is this word, in letters of any case.
    pub fn is(self, index: usize, word: &str) -> bool {
        self.get(index).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
    }
}

impl Index<usize> for Args<'_> {
    type Output = [u8];

    fn index(&self, index: usize) -> &[u8] {
        self.at(index)
    }
}
