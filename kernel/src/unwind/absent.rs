//! Functions of the operating system that nothing calls in this kernel.
//!
//! The standard library names them for the backtrace in its own report of a panic, in whose place
//! the kernel has another.

use crate::report;

macro_rules! absent {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> ! {
                report::absent(stringify!($name))
            }
        )*
    };
}

absent! {
    close dl_iterate_phdr fstat64 getcwd lseek64 mmap64 munmap open64 read readlink realpath stat64
}
