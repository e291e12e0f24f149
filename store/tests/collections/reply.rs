//! Replies as trees, so that those without an order can be compared.

/// A reply: its first line, and what follows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reply {
    line: Vec<u8>,
    bulk: Vec<u8>,
    elements: Vec<Reply>,
}

impl Reply {
    /// Parses the first reply in a buffer. Returns it and its length; `None` if it is not complete.
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
        let line = bytes[..end].to_vec();
        let mut read = end + 2;
        let len: Option<usize> = std::str::from_utf8(&line[1..]).ok().and_then(|len| len.parse().ok());
        let mut reply = Self { line, bulk: Vec::new(), elements: Vec::new() };
        match (reply.line[0], len) {
            (b'$', Some(len)) => {
                reply.bulk = bytes.get(read..read + len)?.to_vec();
                read += len + 2;
            }
            (kind @ (b'*' | b'%' | b'~'), Some(len)) => {
                for _ in 0..len * if kind == b'%' { 2 } else { 1 } {
                    let (element, used) = Self::parse(bytes.get(read..)?)?;
                    reply.elements.push(element);
                    read += used;
                }
            }
            _ => {}
        }
        (read <= bytes.len()).then_some((reply, read))
    }

    /// Sorts the elements, by groups of `width`.
    pub fn sort(&mut self, width: usize) {
        if !self.elements.len().is_multiple_of(width) {
            return;
        }
        let mut groups: Vec<_> = self.elements.chunks(width).map(<[_]>::to_vec).collect();
        groups.sort();
        self.elements = groups.concat();
    }

    /// Forgets the contents of a bulk string.
    pub fn forget_bulk(&mut self) {
        if self.line.starts_with(b"$") && self.line != b"$-1" {
            self.line.truncate(1);
            self.bulk.clear();
        }
    }

    /// Returns the element at `index`.
    pub fn element_mut(&mut self, index: usize) -> Option<&mut Self> {
        self.elements.get_mut(index)
    }
}
