//! A cell whose accesses a model checker can see: the rule that keeps them apart is then checked, not only stated.

/// As [`core::cell::UnsafeCell`], but reached by closures that span the accesses.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// For reading: nobody writes meanwhile.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// For writing: nobody else reads or writes meanwhile.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
