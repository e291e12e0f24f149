//! The order in which the machine comes up.
//!
//! The first core reads what the loader and the firmware say, while memory is as the loader left
//! it; then makes page tables, the heap and its own stack; then starts the others, and runs the
//! program. Each other core loads its tables and waits for a job.

use crate::acpi::{self, Fact};
use crate::boot::{self, LoaderInfo};
use crate::cpu::{self, apic, interrupts, tables};
use crate::memory::{PAGE, Span, Spans, paging, stacks, zones};
use crate::report::{self, ExitStatus};
#[cfg(feature = "unwind")]
use crate::unwind;
use crate::{MAX_CORES, Machine, clock, console, cores};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicPtr, Ordering::*};

/// Nodes that the firmware may name.
const MAX_NODES: usize = 64;
/// Bytes of the command line.
const MAX_COMMAND_LINE: usize = 1024;
/// What the loader's page tables map.
const LOADER_MAPS: usize = 4 << 30;
/// Nanoseconds that a core has between its reset and its start.
const RESET_TIME: u64 = 10_000;
/// Nanoseconds in which all cores must start. The machine below a virtual one may be busy.
const START_TIME: u64 = 60_000_000_000;

unsafe extern "Rust" {
    /// The program, which [`program!`](crate::program) names.
    fn xkernel_program(machine: &'static Machine);
}

/// What the firmware says, while there is no heap.
struct Firmware {
    /// The APIC ID of each core, and its node by the firmware's number.
    cores: [(u8, u32); MAX_CORES],
    core_count: usize,
    /// The firmware's number of each node; the index is the kernel's.
    nodes: [u32; MAX_NODES],
    node_count: usize,
    distances: [[u8; MAX_NODES]; MAX_NODES],
    memory: Spans,
    timer: Option<u16>,
    command_line: [u8; MAX_COMMAND_LINE],
    command_bytes: usize,
}

struct FirmwareCell(UnsafeCell<Firmware>);

// SAFETY: only the first core accesses it.
unsafe impl Sync for FirmwareCell {}

static FIRMWARE: FirmwareCell = FirmwareCell(UnsafeCell::new(Firmware {
    cores: [(0, 0); MAX_CORES],
    core_count: 0,
    nodes: [0; MAX_NODES],
    node_count: 0,
    distances: [[0; MAX_NODES]; MAX_NODES],
    memory: Spans::new(),
    timer: None,
    command_line: [0; MAX_COMMAND_LINE],
    command_bytes: 0,
}));

/// The stacks for interrupts of each core that is about to start.
static INTERRUPT_STACKS: [[AtomicPtr<u8>; tables::INTERRUPT_STACKS]; MAX_CORES] =
    [const { [const { AtomicPtr::new(core::ptr::null_mut()) }; tables::INTERRUPT_STACKS] }; MAX_CORES];

impl Firmware {
    /// Returns the kernel's index of a node, which is given one if need be. Nodes beyond the most
    /// count as the first.
    fn node(&mut self, number: u32) -> u16 {
        let known = &self.nodes[..self.node_count];
        if let Some(at) = known.iter().position(|&node| node == number) {
            return at as u16;
        }
        if self.node_count == MAX_NODES {
            return 0;
        }
        self.nodes[self.node_count] = number;
        self.node_count += 1;
        self.node_count as u16 - 1
    }

    fn note(&mut self, fact: Fact) {
        match fact {
            Fact::Core { apic_id } if self.core_count < MAX_CORES => {
                self.cores[self.core_count].0 = apic_id;
                self.core_count += 1;
            }
            Fact::Core { .. } => {}
            Fact::CoreNode { apic_id, node } => {
                let cores = self.cores[..self.core_count].iter_mut();
                cores.filter(|core| core.0 == apic_id).for_each(|core| core.1 = node);
            }
            Fact::MemoryNode { start, end, node } => {
                let node = self.node(node);
                self.memory.add(Span { start, end }, node);
            }
            Fact::Distance { from, to, distance } => {
                if let Some(place) =
                    self.distances.get_mut(from as usize).and_then(|row| row.get_mut(to as usize))
                {
                    *place = distance;
                }
            }
            Fact::Timer { port } => self.timer = Some(port),
        }
    }
}

/// The first core begins here, on a small stack and with the loader's memory.
pub(crate) extern "C-unwind" fn first_main() -> ! {
    clock::begin();
    console::begin();
    apic::silence_old_controllers();
    cores::become_core(0);
    #[cfg(feature = "unwind")]
    unwind::begin();
    // SAFETY: only this core runs.
    unsafe { interrupts::write_gates() };
    // SAFETY: only this core runs, and has no other reference.
    let firmware = unsafe { &mut *FIRMWARE.0.get() };
    // SAFETY: memory is as the loader left it.
    let spans = unsafe { read_machine(firmware) };
    // SAFETY: what the loader and the firmware said is copied; nothing below 1 MiB is needed.
    unsafe { boot::copy_trampoline() };
    // SAFETY: only this core runs, with the loader's tables.
    unsafe { make_memory(spans) };
    describe_cores(firmware);
    // SAFETY: this is the first core, and does so once.
    let stacks = unsafe { stacks::make(0, cores::own_node()) }.expect("memory for a stack");
    // SAFETY: the stacks are new.
    unsafe { begin_core(0, stacks.interrupts) };
    clock::measure(firmware.timer.expect("the firmware names a timer"));
    clock::set_date();
    // SAFETY: the stack is new.
    unsafe { cpu::run_on(stacks.tasks, run_program) }
}

/// Reads what loader and firmware say. Returns the memory that may be used.
///
/// # Safety
///
/// Memory is as the loader left it.
unsafe fn read_machine(firmware: &mut Firmware) -> Spans {
    // SAFETY: the caller's promise.
    let loader = unsafe { LoaderInfo::read() }.expect("the loader describes the machine (PVH)");
    // SAFETY: the caller's promise.
    firmware.command_bytes = unsafe { loader.command_line(&mut firmware.command_line) }.len();
    // Cores first, so that their nodes find them.
    for reads_cores in [true, false] {
        // SAFETY: the loader has passed the address of the firmware's tables.
        unsafe {
            acpi::read_all(loader.rsdp(), &mut |fact| {
                if matches!(fact, Fact::Core { .. }) == reads_cores {
                    firmware.note(fact);
                }
            });
        }
    }
    if firmware.core_count == 0 {
        firmware.note(Fact::Core { apic_id: apic::own_id() });
    }
    // The first core is the one that runs.
    let own = apic::own_id();
    if let Some(at) = firmware.cores[..firmware.core_count].iter().position(|core| core.0 == own) {
        firmware.cores[..=at].rotate_right(1);
    }
    let mut spans = Spans::new();
    let image = paging::image();
    let usable = Span { start: image.end, end: usize::MAX };
    // SAFETY: the caller's promise.
    unsafe { loader.usable(|span| firmware.memory.cut(span.common(usable), &mut spans)) };
    spans
}

/// Makes the page tables and the heap.
///
/// # Safety
///
/// Only this core runs, with the loader's tables. The runs are memory that nothing uses.
unsafe fn make_memory(mut spans: Spans) {
    // Tables come from the beginning of the first memory behind the image, which the loader maps.
    let run = spans.iter().map(|(span, _)| span).min_by_key(|span| span.start);
    let run = run.expect("there is memory behind the image");
    let (first, end) = (run.start, run.end.min(LOADER_MAPS));
    let mut next = first;
    let mut frames = || {
        assert!(next + PAGE <= end, "the first run of memory, {run:x?}, is too short for page tables");
        next += PAGE;
        next - PAGE
    };
    // SAFETY: the caller's promise; each frame is passed on once.
    unsafe { paging::begin(&spans, &mut frames) };
    spans.take_beginning(Span { start: first, end: next });
    // SAFETY: they are mapped now, and the frames of the tables are not among them.
    unsafe { zones::fill(&spans) };
}

/// Records the cores with their nodes.
fn describe_cores(firmware: &mut Firmware) {
    for index in 0..firmware.core_count {
        let (apic_id, number) = firmware.cores[index];
        let node = if firmware.node_count == 0 { 0 } else { firmware.node(number) };
        cores::describe(index, apic_id, node);
    }
}

/// Begins a core: its tables, interrupts and controller.
///
/// # Safety
///
/// The calling core has this index, and does so once. Nothing else uses the stacks.
unsafe fn begin_core(index: usize, interrupt_stacks: [*mut u8; tables::INTERRUPT_STACKS]) {
    // SAFETY: the caller's promise.
    unsafe { tables::load(index, interrupt_stacks) };
    interrupts::load();
    cores::become_core(index);
    apic::enable();
    cpu::enable_interrupts();
}

/// The first core goes on here, on its own stack.
extern "C-unwind" fn run_program() -> ! {
    // SAFETY: this core has left its first stack, and no reference into the place is left.
    let firmware = unsafe { &*FIRMWARE.0.get() };
    let number = || NonZeroUsize::MIN.saturating_add(cores::own().index());
    assert!(xtasking::platform::set_thread_number(number), "no program has run yet");
    start_others(firmware);
    let nodes = &firmware.nodes[..firmware.node_count];
    let distance = |from: usize, to: usize| {
        let (from, to) = (*nodes.get(from)?, *nodes.get(to)?);
        let distance = *firmware.distances.get(from as usize)?.get(to as usize)?;
        Some(distance).filter(|&distance| distance > 0)
    };
    let line = core::str::from_utf8(&firmware.command_line[..firmware.command_bytes]).unwrap_or_default();
    let machine = Box::leak(Box::new(Machine::new(line, nodes.len().max(1), distance)));
    // SAFETY: the image defines it by `program!`, with this signature.
    unsafe { xkernel_program(machine) };
    report::exit(ExitStatus::Success)
}

/// Starts all other cores, and waits until they run.
fn start_others(firmware: &Firmware) {
    let others: Vec<_> = cores::all().iter().skip(1).collect();
    for core in &others {
        let index = core.index();
        // SAFETY: this is the first core, and does so once for each.
        let stacks = unsafe { stacks::make(index, core.node()) }.expect("memory for a stack");
        for (place, top) in INTERRUPT_STACKS[index].iter().zip(stacks.interrupts) {
            place.store(top, Relaxed);
        }
        boot::prepare_core(firmware.cores[index].0, index, stacks.tasks);
    }
    if others.is_empty() {
        return;
    }
    apic::reset_others();
    let reset = clock::now();
    while clock::now() < reset + RESET_TIME {
        core::hint::spin_loop();
    }
    apic::start_others(boot::TRAMPOLINE);
    while cores::started() <= others.len() {
        assert!(
            clock::now() < reset + START_TIME,
            "{} of {} cores started",
            cores::started(),
            others.len() + 1
        );
        core::hint::spin_loop();
    }
}

/// Each other core begins here, on its own stack.
pub(crate) extern "C-unwind" fn other_main(index: usize) -> ! {
    let interrupt_stacks = core::array::from_fn(|number| INTERRUPT_STACKS[index][number].load(Relaxed));
    // SAFETY: the entry has passed this core's index, whose stacks are new.
    unsafe { begin_core(index, interrupt_stacks) };
    cores::serve()
}
