//! Functions of the operating system that do their work.

use crate::console::print_failure;
use crate::{MAX_CORES, cores};
use core::ffi::{c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering::*};

/// The number of the only system call: waiting until a word of memory changes.
const FUTEX: c_long = 202;
/// The part of a futex's operation that is what to do, and the two that wait.
const OPERATION: c_int = 0x7f;
const WAIT: c_int = 0;
const WAIT_BITSET: c_int = 9;
/// The error of a system call that does not exist.
const NOT_IMPLEMENTED: c_int = 38;

/// The last error of each core.
static ERRORS: [AtomicI32; MAX_CORES] = [const { AtomicI32::new(0) }; MAX_CORES];
/// The next key of thread-local values; 0 means none.
static NEXT_KEY: AtomicUsize = AtomicUsize::new(1);

/// A piece of a text.
#[repr(C)]
struct Piece {
    start: *const u8,
    bytes: usize,
}

/// Writes to the console what the standard library says of its failures, its only output.
///
/// # Safety
///
/// `text` has this number of bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(_file: c_int, text: *const u8, bytes: usize) -> isize {
    // SAFETY: the caller's promise.
    let text = unsafe { core::slice::from_raw_parts(text, bytes) };
    text.utf8_chunks().for_each(|chunk| print_failure(format_args!("{}", chunk.valid())));
    bytes as isize
}

/// As [`write`], for a text in pieces.
///
/// # Safety
///
/// There are as many pieces, and each has its bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn writev(file: c_int, pieces: *const Piece, count: c_int) -> isize {
    // SAFETY: the caller's promise.
    let pieces = unsafe { core::slice::from_raw_parts(pieces, count as usize) };
    // SAFETY: the caller's promise.
    pieces.iter().map(|piece| unsafe { write(file, piece.start, piece.bytes) }).sum()
}

/// Returns the place of the last error of this core.
#[unsafe(no_mangle)]
extern "C" fn __errno_location() -> *mut c_int {
    ERRORS[cores::own().index()].as_ptr()
}

/// Returns null: there are no variables.
#[unsafe(no_mangle)]
extern "C" fn getenv(_name: *const c_char) -> *const c_char {
    core::ptr::null()
}

/// Waits for a moment if a word has a value, and has nothing to do to wake what waits.
///
/// The locks of the standard library allow a wait to end for no reason, and look at their word
/// again. So what waits looks again and again, and cannot miss a wake-up. The locks that it has
/// here are those of the hook, which another core holds while the hook runs or is replaced. The
/// result 0 of waking says that none has waited; a lock then lets others try.
///
/// The caller passes a variable number of arguments, which the ABI treats as these.
///
/// # Safety
///
/// The operation reads the word if it is one that waits.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(number: c_long, word: *const AtomicU32, operation: c_int, value: u32) -> c_long {
    if number != FUTEX {
        // SAFETY: only this core accesses the place.
        unsafe { __errno_location().write(NOT_IMPLEMENTED) };
        return -1;
    }
    // SAFETY: the caller's promise. It looks for itself afterwards, so one pause is enough.
    if matches!(operation & OPERATION, WAIT | WAIT_BITSET) && unsafe { &*word }.load(Acquire) == value {
        core::hint::spin_loop();
    }
    0
}

/// Makes a key of thread-local values, by which the standard library drops others at the end of a
/// thread. A core is a thread, and has no end: there is nothing to keep.
///
/// # Safety
///
/// `key` may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_create(key: *mut u32, _drop: *const c_void) -> c_int {
    // SAFETY: the caller's promise. Relaxed: only its number counts.
    unsafe { key.write(NEXT_KEY.fetch_add(1, Relaxed) as u32) };
    0
}

/// Forgets a key.
#[unsafe(no_mangle)]
extern "C" fn pthread_key_delete(_key: u32) -> c_int {
    0
}

/// Forgets the value: see [`pthread_key_create`].
#[unsafe(no_mangle)]
extern "C" fn pthread_setspecific(_key: u32, _value: *const c_void) -> c_int {
    0
}
