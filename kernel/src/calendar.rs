//! The date, from the clock that runs on a battery.

#[cfg(bare)]
use crate::cpu::ports;

/// What the clock says, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Date {
    seconds: u8,
    minutes: u8,
    hours: u8,
    day: u8,
    month: u8,
    /// Since 2000: the clock has two digits.
    year: u8,
}

/// The numbers of the registers of a date, in the order of [`Date`].
const REGISTERS: [u8; 6] = [0x00, 0x02, 0x04, 0x07, 0x08, 0x09];
/// The registers that say whether the date changes, and what its numbers look like.
const STATUS: [u8; 2] = [0x0a, 0x0b];
/// In the first of these: the date is about to change.
const CHANGES: u8 = 0x80;
/// In the second one: numbers are binary; otherwise each digit has four bits.
const IS_BINARY: u8 = 0x04;
/// In the second one: hours go to 23; otherwise to 12.
const HAS_24_HOURS: u8 = 0x02;
/// In hours that go to 12: it is after noon.
const AFTER_NOON: u8 = 0x80;

/// Makes a date of the registers.
fn date(registers: [u8; 6], status: u8) -> Date {
    let number = |byte: u8| if status & IS_BINARY == 0 { byte / 16 * 10 + byte % 16 } else { byte };
    let [seconds, minutes, hours, day, month, year] = registers;
    let hours = match status & HAS_24_HOURS {
        0 => number(hours & !AFTER_NOON) % 12 + if hours & AFTER_NOON == 0 { 0 } else { 12 },
        _ => number(hours),
    };
    let [seconds, minutes, day, month, year] = [seconds, minutes, day, month, year].map(number);
    Date { seconds, minutes, hours, day, month, year }
}

/// Returns the seconds from 1970 to a date.
fn seconds_since_1970(date: Date) -> u64 {
    /// The days before each month of a year that begins in March, so that a leap day is the last.
    const BEFORE: [u64; 12] = [306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];
    /// The days from 1970 to March 1999.
    const TO_MARCH_1999: u64 = 10_651;
    let month = usize::from(date.month).clamp(1, 12) - 1;
    // Years that begin in March, counted from 1999; the first one has a leap day at its end.
    let year = u64::from(date.year) + u64::from(month >= 2);
    let days = TO_MARCH_1999 + 365 * year + year.div_ceil(4) + BEFORE[month] + u64::from(date.day.max(1)) - 1;
    ((days * 24 + u64::from(date.hours)) * 60 + u64::from(date.minutes)) * 60 + u64::from(date.seconds)
}

/// How often the clock is read until it does not change meanwhile. It changes for 2 ms of a second.
#[cfg(bare)]
const ATTEMPTS: usize = 100_000;

/// Returns the seconds since 1970 by the machine's clock, which is taken to have the time of
/// Greenwich; 0 if the machine has no such clock.
#[cfg(bare)]
pub(crate) fn now() -> u64 {
    let read = || (REGISTERS.map(register), STATUS.map(register));
    let attempt = |_| {
        let (registers, [changing, status]) = read();
        // The same twice: no part has changed in between.
        let is_whole = changing & CHANGES == 0 && read() == (registers, [changing, status]);
        is_whole.then(|| seconds_since_1970(date(registers, status)))
    };
    (0..ATTEMPTS).find_map(attempt).unwrap_or(0)
}

/// Reads a register of the clock.
#[cfg(bare)]
fn register(number: u8) -> u8 {
    /// The port that chooses a register; the next one reads it.
    const PORT: u16 = 0x70;
    // SAFETY: reading the clock changes nothing, and these ports are its own. Only the first core
    // reads it, before there is a program.
    unsafe {
        ports::write8(PORT, number);
        ports::read8(PORT + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(year: u8, month: u8, day: u8, hours: u8, minutes: u8, seconds: u8) -> u64 {
        seconds_since_1970(Date { seconds, minutes, hours, day, month, year })
    }

    #[test]
    fn dates_are_counted_from_1970() {
        assert_eq!(seconds(0, 1, 1, 0, 0, 0), 946_684_800);
        assert_eq!(seconds(0, 2, 29, 23, 59, 59), 951_868_799);
        assert_eq!(seconds(0, 3, 1, 0, 0, 0), 951_868_800);
        assert_eq!(seconds(24, 2, 29, 12, 0, 0), 1_709_208_000);
        assert_eq!(seconds(26, 11, 28, 21, 18, 26), 1_795_900_706);
        assert_eq!(seconds(99, 12, 31, 23, 59, 59), 4_102_444_799);
    }

    #[test]
    fn days_follow_each_other() {
        let days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut expected = seconds(0, 1, 1, 0, 0, 0);
        for (year, month) in (0..100).flat_map(|year| (1..=12).map(move |month| (year, month))) {
            let leaps = u8::from(month == 2 && year % 4 == 0);
            for day in 1..=days[usize::from(month) - 1] + leaps {
                assert_eq!(seconds(year, month, day, 0, 0, 0), expected, "{year}-{month}-{day}");
                expected += 24 * 60 * 60;
            }
        }
    }

    #[test]
    fn numbers_are_read_as_the_clock_has_them() {
        let expected = Date { seconds: 59, minutes: 48, hours: 23, day: 31, month: 12, year: 26 };
        assert_eq!(date([0x59, 0x48, 0x23, 0x31, 0x12, 0x26], HAS_24_HOURS), expected);
        assert_eq!(date([59, 48, 23, 31, 12, 26], HAS_24_HOURS | IS_BINARY), expected);
        assert_eq!(date([0x59, 0x48, 0x11 | AFTER_NOON, 0x31, 0x12, 0x26], 0), expected);
        let hours = |hours| date([0, 0, hours, 1, 1, 0], IS_BINARY).hours;
        assert_eq!([12, 12 | AFTER_NOON, 1, 1 | AFTER_NOON].map(hours), [0, 12, 1, 13]);
    }
}
