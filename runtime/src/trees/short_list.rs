//! Lists that are short in most claims.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};

/// The length of a list whose values all lie outside.
const OUTSIDE: usize = usize::MAX;

/// A list of plain values, of which up to `N` lie inside.
///
/// Most claims have several such lists, each of one value or none. So it takes two stores to make
/// one, a comparison to drop it, and another one to add a value.
pub(crate) struct ShortList<T, const N: usize> {
    /// Values inside, or [`OUTSIDE`].
    len: usize,
    inside: [MaybeUninit<T>; N],
    /// All values, once there were more than `N`.
    #[expect(clippy::box_collection, reason = "a list without it has one word for that")]
    outside: ManuallyDrop<Option<Box<Vec<MaybeUninit<T>>>>>,
}

impl<T, const N: usize> Drop for ShortList<T, N> {
    #[inline(always)]
    fn drop(&mut self) {
        // The whole of it inside would be a call.
        if self.outside.is_some() {
            self.free();
        }
    }
}

impl<T, const N: usize> ShortList<T, N> {
    #[cold]
    fn free(&mut self) {
        // SAFETY: only `drop` calls this, once.
        unsafe { ManuallyDrop::drop(&mut self.outside) };
    }
}

impl<T: Copy, const N: usize> ShortList<T, N> {
    #[inline(always)]
    pub const fn new() -> Self {
        Self { len: 0, inside: [const { MaybeUninit::uninit() }; N], outside: ManuallyDrop::new(None) }
    }

    /// Makes an empty list in its place, to save a copy of the whole.
    ///
    /// # Safety
    ///
    /// The place is valid for writes, and aligned. What is there is not dropped.
    #[inline(always)]
    pub unsafe fn init(place: *mut Self) {
        // SAFETY: by the contract of this function.
        unsafe {
            (&raw mut (*place).len).write(0);
            (&raw mut (*place).outside).write(ManuallyDrop::new(None));
        }
    }

    /// Returns true if the values lie outside.
    #[inline(always)]
    pub fn has_memory(&self) -> bool {
        self.outside.is_some()
    }

    /// Returns true if one more value lies inside.
    #[inline(always)]
    pub fn has_room_inside(&self) -> bool {
        self.len < N
    }

    /// Removes the last value.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let Some(last) = self.inside.get(self.len.wrapping_sub(1)) else { return self.pop_outside() };
        self.len -= 1;
        // SAFETY: `push` has written each place below the length.
        Some(unsafe { last.assume_init() })
    }

    #[cold]
    fn pop_outside(&mut self) -> Option<T> {
        let last = self.outside.as_mut()?.pop()?;
        // SAFETY: as in `pop`.
        Some(unsafe { last.assume_init() })
    }

    #[inline(always)]
    pub fn push(&mut self, value: T) {
        // The value is written in one place, so that it is built there.
        let place = match self.inside.get_mut(self.len) {
            Some(place) => {
                self.len += 1;
                place
            }
            None => self.place_outside(),
        };
        place.write(value);
    }

    /// Returns the place of one more value outside.
    #[cold]
    fn place_outside(&mut self) -> &mut MaybeUninit<T> {
        if self.outside.is_none() {
            let mut values = Vec::with_capacity(4 * N);
            values.extend_from_slice(&self.inside);
            self.outside = ManuallyDrop::new(Some(Box::new(values)));
            self.len = OUTSIDE;
        }
        let values = self.outside.get_or_insert_default();
        values.push(MaybeUninit::uninit());
        let last = values.len() - 1;
        &mut values[last]
    }

    /// Returns the places of the values.
    #[inline(always)]
    fn places(&self) -> &[MaybeUninit<T>] {
        let outside = || self.outside.as_ref().map_or(&[][..], |values| values);
        self.inside.get(..self.len).unwrap_or_else(outside)
    }

    /// Removes the value at this place; the last one comes there.
    #[inline(always)]
    pub fn swap_remove(&mut self, at: usize) {
        let Some(inside) = self.inside.get_mut(..self.len) else { return self.swap_remove_outside(at) };
        if let Some(&last) = inside.last() {
            inside[at] = last;
            self.len -= 1;
        }
    }

    #[cold]
    fn swap_remove_outside(&mut self, at: usize) {
        self.outside.get_or_insert_default().swap_remove(at);
    }

    #[inline(always)]
    pub fn truncate(&mut self, len: usize) {
        match &mut *self.outside {
            Some(values) => values.truncate(len),
            None => self.len = self.len.min(len),
        }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        if self.len <= N {
            self.len = 0;
        } else {
            self.truncate(0);
        }
    }

    pub fn retain(&mut self, keeps: impl Fn(&T) -> bool) {
        let mut kept = 0;
        for at in 0..self.len() {
            let value = self[at];
            if keeps(&value) {
                self[kept] = value;
                kept += 1;
            }
        }
        self.truncate(kept);
    }
}

impl<T: Copy, const N: usize> Default for ShortList<T, N> {
    #[inline(always)]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy, const N: usize> Clone for ShortList<T, N> {
    fn clone(&self) -> Self {
        Self { len: self.len, inside: self.inside, outside: self.outside.clone() }
    }
}

impl<T: Copy, const N: usize> Deref for ShortList<T, N> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `push` has written each of these places.
        unsafe { self.places().assume_init_ref() }
    }
}

impl<T: Copy, const N: usize> DerefMut for ShortList<T, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        let places = match self.inside.get_mut(..self.len) {
            Some(places) => places,
            None => self.outside.as_mut().map_or(&mut [][..], |values| values),
        };
        // SAFETY: `push` has written each of these places.
        unsafe { places.assume_init_mut() }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    /// The same steps on a vector, with lists that grow beyond their inside and become short again.
    #[test]
    fn a_list_is_like_a_vector() {
        let (mut list, mut vector) = (ShortList::<u32, 3>::new(), Vec::new());
        for step in 0..4000u32 {
            match step.wrapping_mul(0x9E37_79B1) >> 28 {
                0..9 => {
                    list.push(step);
                    vector.push(step);
                }
                9 => assert_eq!(list.pop(), vector.pop()),
                10..13 if !vector.is_empty() => {
                    let at = step as usize % vector.len();
                    list.swap_remove(at);
                    vector.swap_remove(at);
                }
                13 => {
                    list.retain(|value| value % 3 > 0);
                    vector.retain(|value| value % 3 > 0);
                }
                14 => {
                    list.truncate(5);
                    vector.truncate(5);
                }
                15 if step % 7 == 0 => {
                    list.clear();
                    vector.clear();
                    list = ShortList::new();
                }
                _ => {}
            }
            assert_eq!(*list, *vector);
            assert_eq!(*list.clone(), *vector);
        }
    }
}
