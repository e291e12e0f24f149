//! Random bits for the crate `getrandom`.

use getrandom::Error;

/// What the crate calls, as `.cargo/config.toml` has it.
///
/// # Safety
///
/// The bytes may be written.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(bytes: *mut u8, count: usize) -> Result<(), Error> {
    let mut written = 0;
    while written < count {
        let word = xkernel::bare::random().ok_or(Error::UNSUPPORTED)?.to_ne_bytes();
        let part = word.len().min(count - written);
        // SAFETY: the caller's promise; this part of the bytes is inside of them.
        unsafe { bytes.add(written).copy_from_nonoverlapping(word.as_ptr(), part) };
        written += part;
    }
    Ok(())
}
