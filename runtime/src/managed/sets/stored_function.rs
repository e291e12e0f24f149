//! A function whose type is known only to a table beside it.

use alloc::boxed::Box;
use core::any::type_name;
use core::mem::{MaybeUninit, align_of, size_of};

/// Room for a function: a larger one is boxed.
type Space = MaybeUninit<[usize; 6]>;

/// What can be done with a function of one type.
struct FunctionTable {
    run: unsafe fn(*mut Space),
    drop: unsafe fn(*mut Space),
    name: fn() -> &'static str,
}

/// A function without its type. It runs or is dropped where it lies, once; without either it is
/// leaked.
pub(super) struct StoredFunction {
    table: &'static FunctionTable,
    space: Space,
}

// SAFETY: `new` stores functions that are `Send` only.
unsafe impl Send for StoredFunction {}

impl StoredFunction {
    pub fn new<F: FnOnce() + Send + 'static>(function: F) -> Self {
        if const { size_of::<F>() > size_of::<Space>() || align_of::<F>() > align_of::<Space>() } {
            // SAFETY: a box is one word.
            unsafe { Self::in_place::<_, F>(Box::new(function)) }
        } else {
            // SAFETY: its size and alignment were compared above.
            unsafe { Self::in_place::<_, F>(function) }
        }
    }

    /// # Safety
    ///
    /// The function fits into [`Space`], and `Space` is aligned for it. `N` is the type that the
    /// application wrote.
    unsafe fn in_place<F: FnOnce() + Send + 'static, N>(function: F) -> Self {
        let table =
            const { &FunctionTable { run: run::<F>, drop: drop_in_place::<F>, name: type_name::<N> } };
        let mut space = Space::uninit();
        // SAFETY: this function's contract.
        unsafe { space.as_mut_ptr().cast::<F>().write(function) };
        Self { table, space }
    }

    /// Returns the path of the function.
    ///
    /// # Safety
    ///
    /// `this` points to a stored function, which may have run or been dropped.
    pub unsafe fn name(this: *const Self) -> &'static str {
        // SAFETY: this function's contract; running and dropping leave the table in place.
        unsafe { ((*this).table.name)() }
    }

    /// Calls the function.
    ///
    /// # Safety
    ///
    /// `this` points to a stored function that was neither run nor dropped, and that no other
    /// thread accesses. Afterwards it must not be run or dropped.
    #[inline(always)]
    pub unsafe fn run(this: *mut Self) {
        // SAFETY: this function's contract; `in_place` chose the table for the type in the space.
        unsafe { ((*this).table.run)(&raw mut (*this).space) }
    }

    /// Drops the function.
    ///
    /// # Safety
    ///
    /// As for [`run`](Self::run).
    pub unsafe fn drop_unrun(this: *mut Self) {
        // SAFETY: as in `run`: the contract, and the table of `in_place`.
        unsafe { ((*this).table.drop)(&raw mut (*this).space) }
    }
}

/// # Safety
///
/// The space contains a function of type `F`, which moves out.
unsafe fn run<F: FnOnce()>(space: *mut Space) {
    // SAFETY: forwarded.
    let function = unsafe { space.cast::<F>().read() };
    function();
}

/// # Safety
///
/// As for [`run`].
unsafe fn drop_in_place<F>(space: *mut Space) {
    // SAFETY: forwarded.
    unsafe { space.cast::<F>().drop_in_place() };
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::sync::Arc;

    /// A value with a count of owners and any size and alignment.
    #[repr(align(64))]
    struct Aligned(Arc<()>);

    #[test]
    fn a_function_of_any_size_runs_or_is_dropped_once() {
        let owned = Arc::new(());
        let (large, aligned) = (([0u8; 500], owned.clone()), Aligned(owned.clone()));
        let small = owned.clone();
        let mut functions = [
            StoredFunction::new(|| ()),
            StoredFunction::new(move || drop(small)),
            StoredFunction::new(move || drop(large)),
            StoredFunction::new(move || drop(aligned.0)),
        ];
        assert_eq!(Arc::strong_count(&owned), 4);
        for function in &mut functions {
            // SAFETY: each is run once.
            unsafe { StoredFunction::run(function) };
        }
        assert_eq!(Arc::strong_count(&owned), 1);
        for size in 0..2 {
            let (captured, fill) = (owned.clone(), [1u8; 100]);
            let mut function = match size {
                0 => StoredFunction::new(move || drop(captured)),
                _ => StoredFunction::new(move || assert_eq!(fill.len(), Arc::strong_count(&captured))),
            };
            assert_eq!(Arc::strong_count(&owned), 2);
            // SAFETY: it is not run, and dropped once.
            unsafe { StoredFunction::drop_unrun(&mut function) };
            assert_eq!(Arc::strong_count(&owned), 1);
        }
    }
}
