//! A snapshot is copied by whole words: it has no padding, and its size is a multiple of 8 bytes.
//!
//! The size is checked only when code is generated for the type: `cargo check` does not see it.
//!
//! refused padding: error[E0277]: `Padded` cannot be the data of a snapshot
//! refused read: error[E0080]: evaluation panicked: a snapshot's size is a multiple of 8 bytes: pad
//!     it
//! refused write: error[E0080]: evaluation panicked: a snapshot's size is a multiple of 8 bytes:
//!     pad it
//! refused several: error[E0080]: evaluation panicked: a snapshot's size is a multiple of 8 bytes:
//!     pad it

use xtasking::Runtime;

/// Four bytes, four that are undefined, eight bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Padded(u32, u64);

fn main() {
    let rt = Runtime::new().unwrap();

    #[cfg(refused = "padding")]
    let value = Padded(1, 2);
    #[cfg(not(refused = "padding"))]
    let value = [1u64, 2];
    let _object = rt.snapshot(value).build();

    #[cfg(refused = "read")]
    let object = rt.snapshot([0u8; 12]).build();
    #[cfg(not(refused = "read"))]
    let object = rt.snapshot([0u8; 16]).build();
    rt.task(object.read()).spawn(|_, _cx| {});

    #[cfg(refused = "write")]
    let object = rt.snapshot(0u32).build();
    #[cfg(not(refused = "write"))]
    let object = rt.snapshot(0u64).build();
    rt.task(object.write()).spawn(|_, _cx| {});

    #[cfg(refused = "several")]
    let object = rt.snapshot([0u16; 3]).build();
    #[cfg(not(refused = "several"))]
    let object = rt.snapshot([0u16; 4]).build();
    rt.task((object.read(), _object.read())).spawn(|_, _cx| {});
}
