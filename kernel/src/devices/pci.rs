//! PCI: the bus on which devices are found, by its two ports.

use super::memory::{DeviceMemory, map_registers};
use super::msix::{self, Entry, TablePlace};
use super::registers::Window;
use super::{Counters, Transport};
use crate::cpu::ports;
use crate::lock::SpinLock;
use alloc::sync::Arc;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering::*};
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::pci::bus::{Command, ConfigurationAccess, DeviceFunction, PciError, PciRoot};
use virtio_drivers::transport::pci::{PciTransport, VirtioPciError, virtio_device_type};

/// The port that names a register, and the port of its value.
const ADDRESS: u16 = 0xcf8;
const VALUE: u16 = 0xcfc;
const IS_REGISTER: u32 = 1 << 31;
/// The last address register (BAR) of a device.
const LAST_BAR: u8 = 5;
/// Capabilities for which a device has room.
const MOST_CAPABILITIES: usize = 48;

/// Held while both ports are used.
static PORTS: SpinLock<()> = SpinLock::new(());
/// The device of each kind is in use.
static IS_TAKEN: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

/// A kind of device for which this kernel has a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A network card.
    Network,
    /// A block device.
    Block,
}

impl DeviceKind {
    fn is_kind_of(self, device: DeviceType) -> bool {
        match self {
            Self::Network => matches!(device, DeviceType::Network),
            Self::Block => matches!(device, DeviceType::Block),
        }
    }

    /// Returns its name, and the option of `kernel/run` that gives the machine one.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Network => ("network card", "--forward"),
            Self::Block => ("block device", "--disk"),
        }
    }
}

/// Why a device cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum DeviceError {
    /// The machine has none of this kind, or it is in use already.
    Missing(DeviceKind),
    /// It has no table of interrupts (MSI-X).
    NoInterrupts,
    /// It describes itself wrongly: what is wrong.
    Malformed(&'static str),
    /// It is not as the standard wants it.
    Bus(VirtioPciError),
    /// Its driver has refused it.
    Driver(virtio_drivers::Error),
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(kind) => {
                let (name, option) = kind.words();
                write!(
                    f,
                    "no virtio {name} is free on the first PCI bus; give the machine one \
                     (`kernel/run {option}`), and take it once"
                )
            }
            Self::NoInterrupts => write!(f, "the device cannot interrupt by messages (MSI-X)"),
            Self::Malformed(what) => write!(f, "the device cannot be used, as {what}"),
            Self::Bus(error) => write!(f, "the device does not follow virtio 1.0: {error}"),
            Self::Driver(error) => write!(f, "the device cannot be started: {error}"),
        }
    }
}

impl core::error::Error for DeviceError {}

impl From<VirtioPciError> for DeviceError {
    fn from(error: VirtioPciError) -> Self {
        Self::Bus(error)
    }
}

impl From<PciError> for DeviceError {
    fn from(error: PciError) -> Self {
        Self::Bus(error.into())
    }
}

impl From<virtio_drivers::Error> for DeviceError {
    fn from(error: virtio_drivers::Error) -> Self {
        Self::Driver(error)
    }
}

/// The registers of all devices on the bus.
#[derive(Clone, Copy, Debug)]
struct Registers;

impl Registers {
    fn with<R>(function: DeviceFunction, register: u8, access: impl FnOnce() -> R) -> R {
        let DeviceFunction { bus, device, function } = function;
        let place = u32::from(bus) << 16 | u32::from(device) << 11 | u32::from(function) << 8;
        PORTS.with(|()| {
            // SAFETY: this only chooses the register that the other port means.
            unsafe { ports::write32(ADDRESS, IS_REGISTER | place | u32::from(register & !3)) };
            access()
        })
    }
}

impl ConfigurationAccess for Registers {
    fn read_word(&self, function: DeviceFunction, register: u8) -> u32 {
        // SAFETY: reading a register of the bus changes nothing.
        Self::with(function, register, || unsafe { ports::read32(VALUE) })
    }

    fn write_word(&mut self, function: DeviceFunction, register: u8, value: u32) {
        // SAFETY: the callers in this file, and the driver of a device, write the registers of
        // devices that nothing else uses; a device gets memory by its own queues only.
        Self::with(function, register, || unsafe { ports::write32(VALUE, value) });
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Self
    }
}

/// Finds the first device of a kind, and makes it ready for its driver. It is free again when the
/// result is dropped.
pub(crate) fn take(kind: DeviceKind) -> Result<Transport, DeviceError> {
    let mut root = PciRoot::new(Registers);
    let mut found = root.enumerate_bus(0);
    let found =
        found.find(|(_, info)| virtio_device_type(info).is_some_and(|device| kind.is_kind_of(device)));
    let (function, _) = found.ok_or(DeviceError::Missing(kind))?;
    let taken = Taken::new(kind).ok_or(DeviceError::Missing(kind))?;
    if root.capabilities(function).nth(MOST_CAPABILITIES).is_some() {
        return Err(DeviceError::Malformed("its list of capabilities has no end"));
    }
    root.set_command(function, Command::MEMORY_SPACE | Command::BUS_MASTER | Command::INTERRUPT_DISABLE);
    let counters = interrupts(&mut root, function)?;
    let common = registers_of_kind(&mut root, function, COMMON_REGISTERS)?;
    if common.bytes < COMMON_BYTES {
        return Err(DeviceError::Malformed("it has too few registers"));
    }
    let bell = registers_of_kind(&mut root, function, DOORBELLS)?;
    let transport = PciTransport::new::<DeviceMemory, _>(&mut root, function)?;
    // SAFETY: both are registers of this device, mapped, and named by its capabilities.
    Ok(unsafe { Transport::new(transport, common.start, bell, counters, taken) })
}

/// A device is in use until this is dropped.
pub(super) struct Taken(DeviceKind);

impl Taken {
    fn new(kind: DeviceKind) -> Option<Self> {
        // AcqRel pairs with the Release below: the next user comes after the last one.
        (!IS_TAKEN[kind as usize].swap(true, AcqRel)).then_some(Self(kind))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        IS_TAKEN[self.0 as usize].store(false, Release);
    }
}

/// Turns the interrupts of a device on, by the first entry of its table.
fn interrupts(root: &mut PciRoot<Registers>, function: DeviceFunction) -> Result<Arc<Counters>, DeviceError> {
    let capability = root.capabilities(function).find(|capability| capability.id == msix::CAPABILITY);
    let at = capability.ok_or(DeviceError::NoInterrupts)?.offset;
    let TablePlace { bar, offset } = TablePlace::new(Registers.read_word(function, at + 4));
    let entry = registers(root, function, bar, offset, size_of::<[u32; 4]>())?;
    // SAFETY: the device's own capability says that its table is there; it was mapped above, where
    // nothing else is, and only this kernel's one driver of the device uses it.
    let counters = Counters::new(unsafe { Entry::new(entry) });
    let control = Registers.read_word(function, at) & !msix::ALL_ARE_MASKED;
    Registers.write_word(function, at, control | msix::ENABLE);
    Ok(counters)
}

/// The capability that says where registers of a virtio device are.
const VENDOR: u8 = 9;
/// Its kinds: what is common to all devices, and where a driver says that a queue has something.
const COMMON_REGISTERS: u8 = 1;
const DOORBELLS: u8 = 2;
/// Bytes of the registers that are common to all devices.
const COMMON_BYTES: usize = 0x38;

/// Registers of a virtio device, and the bytes from one queue's doorbell to the next.
#[derive(Clone, Copy)]
pub(super) struct RegisterBlock {
    pub start: NonNull<u8>,
    pub bytes: usize,
    pub stride: usize,
}

fn registers_of_kind(
    root: &mut PciRoot<Registers>,
    function: DeviceFunction,
    kind: u8,
) -> Result<RegisterBlock, DeviceError> {
    let is_wanted = |private: u16| (private >> 8) as u8 == kind;
    let mut found = root.capabilities(function);
    let found = found.find(|capability| capability.id == VENDOR && is_wanted(capability.private_header));
    let at = found.ok_or(VirtioPciError::MissingCommonConfig)?.offset;
    let word = |word: u8| Registers.read_word(function, at + 4 * word);
    let (bytes, stride) = (word(3) as usize, word(4) as usize);
    let start = registers(root, function, word(1) as u8, word(2), bytes)?;
    Ok(RegisterBlock { start, bytes, stride })
}

/// Finds and maps registers, by their address register (BAR) and their offset.
fn registers(
    root: &mut PciRoot<Registers>,
    function: DeviceFunction,
    bar: u8,
    offset: u32,
    bytes: usize,
) -> Result<NonNull<u8>, DeviceError> {
    if bar > LAST_BAR {
        return Err(DeviceError::Malformed("it names an address register that there is not"));
    }
    let info = root.bar_info(function, bar)?.ok_or(VirtioPciError::BarNotAllocated(bar))?;
    let (address, size) = info.memory_address_size().ok_or(VirtioPciError::UnexpectedIoBar)?;
    let place = Window { address, bytes: size }.place(offset, bytes);
    let place = place.ok_or(DeviceError::Malformed("it names registers that are not its own"))?;
    map_registers(place, bytes).ok_or(DeviceError::Malformed("its registers are where memory is"))
}
