//! Fails in a way that the command line names, within a task on the last core: each must end in a
//! report.

#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::arch::asm;
use core::fmt;
use core::hint::black_box;
use xkernel::{Machine, println};
use xtasking::primitive::SpinLatch;

xkernel::program!(run);

fn run(machine: &'static Machine) {
    let kind = machine.arguments().next().unwrap_or("panic");
    let rt = machine.runtime().build().expect("a worker on each core");
    let object = rt.plain(0u64).pin(SpinLatch).name("victim").build();
    let core = rt.workers() as u16 - 1;
    println!("fault: {kind}");
    let fault: fn() = match kind {
        "panic" => || panic!("as the test wants"),
        "stack" => || _ = black_box(recurse(black_box(1))),
        "null" => || write(core::ptr::null_mut()),
        "code" => || write(run as *const () as *mut u8),
        "constant" => || write(KINDS.as_ptr().cast_mut().cast()),
        "data" => run_data,
        "invalid" => invalid_instruction,
        "double" => double_fault,
        "memory" => exhaust,
        "nested" => || panic!("{}", FailsToo),
        "deep-panic" => || _ = black_box(recurse_then_panic(black_box(1))),
        "idle" => return println!("nothing fails"),
        _ => panic!("{kind} is not one of {KINDS:?}"),
    };
    rt.task(object.write()).core(core).name("fault").spawn(move |object, _cx| {
        *object += 1;
        fault();
    });
}

/// What may fail.
static KINDS: [&str; 11] = [
    "panic",
    "stack",
    "null",
    "code",
    "constant",
    "data",
    "invalid",
    "double",
    "memory",
    "nested",
    "deep-panic",
];

/// Panics while the report of a panic displays it.
struct FailsToo;

impl fmt::Display for FailsToo {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("within a report")
    }
}

/// Writes where nothing may be written.
fn write(address: *mut u8) {
    // SAFETY: not sound. That is what it is for: the machine must report it.
    unsafe { black_box(address).write_volatile(1) };
}

/// Runs what is not code.
fn run_data() {
    static RETURN: u8 = 0xc3;
    // SAFETY: not sound, as above.
    let run = unsafe { core::mem::transmute::<*const u8, fn()>(black_box(&raw const RETURN)) };
    run();
}

/// Runs what is no instruction.
fn invalid_instruction() {
    // SAFETY: the machine reports it, and does not go on.
    unsafe { asm!("ud2") };
}

/// Uses up the stack.
#[allow(unconditional_recursion)]
fn recurse(depth: u64) -> u64 {
    let here = black_box([depth; 16]);
    recurse(here[3] + 1) + black_box(here)[5]
}

/// Panics where the stack has too little room left for a report.
fn recurse_then_panic(depth: u64) -> u64 {
    /// Where a core's stack begins in its addresses, which are a multiple of as many.
    const STACK_START: usize = 4 << 20;
    const CORE_ADDRESSES: usize = 16 << 20;
    const ROOM: usize = 1024;
    let here = black_box([depth; 4]);
    assert!((&raw const here).addr() % CORE_ADDRESSES > STACK_START + ROOM, "near the end of the stack");
    recurse_then_panic(here[1] + 1) + black_box(here)[2]
}

/// Takes all memory.
fn exhaust() {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(Vec::<u8>::with_capacity(1 << 20)));
    }
}

/// Makes page faults impossible to take, and causes one.
fn double_fault() {
    #[repr(C, packed)]
    struct TablePointer {
        last: u16,
        start: u64,
    }
    let mut pointer = TablePointer { last: 0, start: 0 };
    // SAFETY: not sound, as above: entry 14 of the interrupt table is no longer present.
    unsafe {
        asm!("sidt [{}]", in(reg) &raw mut pointer);
        let entry = pointer.start as *mut u8;
        entry.add(14 * 16 + 5).write_volatile(0);
        black_box(core::ptr::null_mut::<u64>()).write_volatile(1);
    }
}
