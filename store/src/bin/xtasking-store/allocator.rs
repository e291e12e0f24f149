//! The allocator of the program: mimalloc, which keeps memory for a second before it returns it.
//!
//! mimalloc asks Linux for huge pages. Tables that grow free small pieces between the keys, and by
//! default each piece is returned to the system after 10 ms, which breaks up the huge page that it
//! is in: of a database that had just been loaded a fifth was on huge pages. A piece is used again
//! well within a second, and nearly all of the memory stays on huge pages. With ten million keys
//! that is worth a fifth of the CPU time of GET and MGET in pipelines, as the processor finds
//! addresses of small pages in page tables that do not fit its caches.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long pieces of memory are kept, in ms. The crate does not name the option.
const PURGE_DELAY: mi_option_t = 15;
/// How many times as long whole segments are kept that no thread uses. By default it is 10.
const ARENA_PURGE_MULTIPLE: mi_option_t = 24;

/// Sets how long memory is kept, unless the environment does (`MIMALLOC_PURGE_DELAY`,
/// `MIMALLOC_ARENA_PURGE_MULT`).
///
/// # Safety
///
/// The process has no other thread.
pub unsafe fn keep_freed_memory_for_a_second() {
    for (option, value) in [(PURGE_DELAY, 1000), (ARENA_PURGE_MULTIPLE, 1)] {
        // SAFETY: it is not thread-safe, and there is no other thread. The options exist in
        // version 2 of mimalloc, and any number of ms is allowed.
        unsafe { mi_option_set_default(option, value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[ignore = "prints for another test"]
    fn prints_options() {
        // SAFETY: it only reads.
        let value = |option| unsafe { libmimalloc_sys::mi_option_get(option) };
        println!("options: {} {}", value(PURGE_DELAY), value(ARENA_PURGE_MULTIPLE));
    }

    /// The numbers of the options are those of the names in the environment.
    #[test]
    fn the_options_have_these_numbers() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--nocapture", "prints_options"]);
        command.env("MIMALLOC_PURGE_DELAY", "77").env("MIMALLOC_ARENA_PURGE_MULT", "7");
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(output.contains("options: 77 7\n"), "{output}");
    }
}
