//! A sorted set of integers in one buffer, as wide as its widest member needs.

/// Bytes of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    #[default]
    Two = 2,
    Four = 4,
    Eight = 8,
}

impl Width {
    const fn of(value: i64) -> Self {
        if value as i16 as i64 == value {
            Self::Two
        } else if value as i32 as i64 == value {
            Self::Four
        } else {
            Self::Eight
        }
    }
}

/// A sorted set of integers.
#[derive(Clone, Debug, Default)]
pub struct IntSet {
    bytes: Vec<u8>,
    width: Width,
}

impl IntSet {
    /// Returns the number of members.
    pub const fn len(&self) -> usize {
        self.bytes.len() / self.width as usize
    }

    /// Returns the member at `index`, in ascending order.
    pub fn get(&self, index: usize) -> Option<i64> {
        let width = self.width as usize;
        let bytes = self.bytes.chunks_exact(width).nth(index)?;
        Some(match *bytes {
            [a, b] => i64::from(i16::from_le_bytes([a, b])),
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            _ => i64::from_le_bytes(bytes.try_into().unwrap_or_default()),
        })
    }

    /// Returns true if `value` is a member.
    pub fn contains(&self, value: i64) -> bool {
        self.search(value).is_ok()
    }

    /// Adds a member. Returns false if it was there.
    pub fn insert(&mut self, value: i64) -> bool {
        let Err(index) = self.search(value) else { return false };
        let width = Width::of(value);
        if width > self.width {
            let wider = self.iter().flat_map(|old| old.to_le_bytes().into_iter().take(width as usize));
            self.bytes = wider.collect();
            self.width = width;
        }
        let width = self.width as usize;
        let at = index * width;
        self.bytes.splice(at..at, value.to_le_bytes().into_iter().take(width));
        true
    }

    /// Removes a member. Returns false if it was not there.
    pub fn remove(&mut self, value: i64) -> bool {
        let Ok(index) = self.search(value) else { return false };
        let width = self.width as usize;
        self.bytes.drain(index * width..(index + 1) * width);
        true
    }

    /// Returns how many bytes it points to.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Iterates over the members in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = i64> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns the index of a member, or the index where it would be.
    fn search(&self, value: i64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.get(middle).cmp(&Some(value)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }
}
