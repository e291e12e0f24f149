//! Lists that are short in most claims.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
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
    outside: Option<Box<Vec<T>>>,
}

impl<T: Copy, const N: usize> ShortList<T, N> {
    #[inline(always)]
    pub const fn new() -> Self {
        Self { len: 0, inside: [const { MaybeUninit::uninit() }; N], outside: None }
    }

    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if let Some(place) = self.inside.get_mut(self.len) {
            place.write(value);
            self.len += 1;
        } else {
            self.push_outside(value);
        }
    }

    #[cold]
    fn push_outside(&mut self, value: T) {
        if self.outside.is_none() {
            self.outside = Some(Box::new(self.to_vec()));
            self.len = OUTSIDE;
        }
        self.outside.as_mut().expect("the values lie outside").push(value);
    }

    /// Returns the values, if they lie inside.
    #[inline(always)]
    fn inside(&self) -> Option<&[T]> {
        let values = self.inside.get(..self.len)?;
        // SAFETY: the first `len` values were written by `push`.
        Some(unsafe { values.assume_init_ref() })
    }

    /// Removes the value at this place; the last one comes there.
    #[inline(always)]
    pub fn swap_remove(&mut self, at: usize) {
        if let Some(last) = self.last().copied() {
            self[at] = last;
            self.truncate(self.len() - 1);
        }
    }

    #[inline(always)]
    pub fn truncate(&mut self, len: usize) {
        match &mut self.outside {
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
        self.inside().unwrap_or_else(|| self.outside.as_ref().map_or(&[], |values| values))
    }
}

impl<T: Copy, const N: usize> DerefMut for ShortList<T, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match self.inside.get_mut(..self.len) {
            // SAFETY: the first `len` values were written by `push`.
            Some(values) => unsafe { values.assume_init_mut() },
            None => self.outside.as_mut().map_or(&mut [], |values| values),
        }
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
                9..13 if !vector.is_empty() => {
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
