//! What a device has: the entries of its queue, and the buffer of each. A device that returns what
//! it does not have is not believed.

/// Entries of each queue.
pub(super) const QUEUE: usize = 256;

/// The buffers of the entries that the device has.
pub(super) struct Entries([Option<HeldBuffer>; QUEUE]);

/// A buffer that a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldBuffer {
    pub number: usize,
    /// How much of it the device may use.
    pub bytes: usize,
}

impl Entries {
    pub fn new() -> Self {
        Self([None; QUEUE])
    }

    /// Says that the device has a buffer now.
    pub fn put(&mut self, entry: u16, buffer: HeldBuffer) {
        self.0[usize::from(entry)] = Some(buffer);
    }

    /// Takes a buffer back. `None` if the device does not have this entry.
    pub fn take(&mut self, entry: u16) -> Option<HeldBuffer> {
        self.0.get_mut(usize::from(entry))?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_once_and_only_if_it_is_with_the_device() {
        let mut entries = Entries::new();
        let buffer = HeldBuffer { number: 9, bytes: 60 };
        entries.put(3, buffer);
        assert_eq!(entries.take(2), None);
        assert_eq!(entries.take(3), Some(buffer));
        assert_eq!(entries.take(3), None);
        assert_eq!(entries.take(QUEUE as u16), None);
    }
}
