//! The serial port, as a console.

use crate::cpu::ports;
use crate::lock::SpinLock;
use core::fmt::{self, Write};

/// The first serial port.
const PORT: u16 = 0x3f8;
/// Its registers.
const INTERRUPTS: u16 = PORT + 1;
const BUFFERS: u16 = PORT + 2;
const LINE: u16 = PORT + 3;
const MODEM: u16 = PORT + 4;
const STATUS: u16 = PORT + 5;
/// The port takes another byte.
const IS_READY: u8 = 1 << 5;
/// Probes for that before the byte is sent all the same: without a port there is no answer.
const READY_PROBES: u32 = 100_000;
/// Bytes of a report that are written at a time.
const FAILURE_BYTES: usize = 512;
/// Probes for the lock of the console by a core that reports a failure.
const LOCK_PROBES: u32 = 10_000_000;

struct Serial;

static SERIAL: SpinLock<Serial> = SpinLock::new(Serial);

impl Serial {
    fn set(&self, register: u16, value: u8) {
        // SAFETY: the registers of the serial port reach no memory.
        unsafe { ports::write8(register, value) };
    }

    fn send(&self, byte: u8) {
        // SAFETY: reading the status changes nothing.
        let is_ready = || unsafe { ports::read8(STATUS) } & IS_READY != 0;
        _ = (0..READY_PROBES).any(|_| is_ready());
        self.set(PORT, byte);
    }
}

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.send(byte));
        Ok(())
    }
}

/// Sets the port up: 115,200 baud, 8 bits, no interrupts.
pub(crate) fn begin() {
    SERIAL.with(|serial| {
        serial.set(INTERRUPTS, 0);
        serial.set(LINE, 0x80);
        serial.set(PORT, 1);
        serial.set(INTERRUPTS, 0);
        serial.set(LINE, 3);
        serial.set(BUFFERS, 0xc7);
        serial.set(MODEM, 3);
    });
}

/// Writes to the console; what other cores write comes before or after.
/// [`println!`](crate::println) calls it.
pub fn print(text: fmt::Arguments<'_>) {
    // Formatted first: it is the program's code, which may panic.
    match text.as_str() {
        Some(text) => SERIAL.with(|serial| _ = serial.write_str(text)),
        None => {
            let text = alloc::fmt::format(text);
            SERIAL.with(|serial| _ = serial.write_str(&text));
        }
    }
}

/// Writes to the console without a heap, even if another core never ends its line.
pub(crate) fn print_failure(text: fmt::Arguments<'_>) {
    // Formatted outside of the lock, as that may fail: what the program displays is its code.
    let mut line = FailureText { bytes: [0; FAILURE_BYTES], count: 0 };
    _ = line.write_fmt(text);
    line.flush();
}

/// Writes to the console without a lock.
pub(crate) fn print_at_once(text: &str) {
    _ = Serial.write_str(text);
}

/// A text on the stack, which goes to the console when it is full.
struct FailureText {
    bytes: [u8; FAILURE_BYTES],
    count: usize,
}

impl FailureText {
    fn flush(&mut self) {
        let text = &self.bytes[..self.count];
        if SERIAL.try_with(LOCK_PROBES, |serial| text.iter().for_each(|&byte| serial.send(byte))).is_none() {
            text.iter().for_each(|&byte| Serial.send(byte));
        }
        self.count = 0;
    }
}

impl Write for FailureText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if self.count == FAILURE_BYTES {
                self.flush();
            }
            self.bytes[self.count] = byte;
            self.count += 1;
        }
        Ok(())
    }
}

/// Writes a line to the console.
///
/// ```text
/// xkernel::println!("{} cores", machine.cores());
/// ```
#[macro_export]
macro_rules! println {
    () => { $crate::print(::core::format_args!("\n")) };
    ($($text:tt)*) => {
        $crate::print(::core::format_args!("{}\n", ::core::format_args!($($text)*)))
    };
}
