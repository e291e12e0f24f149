//! Keeps a log on the machine's block device: `disk [COUNT]` looks whether all records are there
//! that an earlier run has made durable, and appends up to this number of further ones. `disk raw
//! [ROUNDS]` writes to an empty device from all cores, past any files.

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Display;
use core::str::FromStr;
use xkernel::block::BlockDevice;
use xkernel::{ExitStatus, Machine, println};
use xkernel_files::{Blocks, Error, FileId, SECTOR, Volume};

xkernel::program!(run);

/// Records of a file. When it has all of them, a base takes its place.
const SEGMENT: u64 = 100;
/// The longest record.
const LONGEST: u64 = 3000;
/// The file that says how many records there were before the log.
const BASE: &str = "base";
const NEW_BASE: &str = "base.new";
/// Bytes that a core writes in a round: more than the device takes at once.
const AREA: usize = 700 << 10;

fn run(machine: &'static Machine) {
    let device = BlockDevice::take(machine).unwrap_or_else(|error| panic!("{error}"));
    let words: Vec<_> = machine.arguments().collect();
    let number = |word: Option<&&str>| word.map(|word| u64::from_str(word).expect("a number"));
    let result = match words.first() {
        Some(&"raw") => use_all_cores(machine, device, number(words.get(1)).unwrap_or(3)),
        count => keep_log(machine, device, number(count).unwrap_or(1000)),
    };
    if let Err(wrong) = result {
        println!("WRONG: {wrong}");
        xkernel::exit(ExitStatus::Failure);
    }
}

fn text(error: impl Display) -> String {
    format!("{error}")
}

/// The bytes of a record follow from its number.
fn record(number: u64) -> Vec<u8> {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let length = 8 + (mixed >> 32) % (LONGEST - 8);
    let rest = (8..length).map(|at| (mixed >> (at % 8 * 8)) as u8 ^ at as u8);
    number.to_le_bytes().into_iter().chain(rest).collect()
}

fn log_name(first: u64) -> String {
    format!("log-{first:0>20}")
}

/// A log on a volume.
struct Log {
    volume: Volume<BlockDevice>,
    file: FileId,
    /// The number of its first record, and of the next one.
    first: u64,
    next: u64,
}

impl Log {
    /// Opens the log, and looks at all that is there.
    fn open(device: BlockDevice) -> Result<Self, String> {
        let mut volume = Volume::open(device).map_err(text)?;
        if volume.names().next().is_none() {
            write_base(&mut volume, 0).map_err(text)?;
        }
        let first = read_base(&mut volume)?;
        let expected = [BASE.into(), log_name(first)];
        if !volume.names().eq(expected.iter().map(String::as_str)) {
            return Err(format!("other files than {expected:?}: {:?}", volume.names().collect::<Vec<_>>()));
        }
        let file = volume.open_file(&log_name(first)).map_err(text)?;
        let mut log = Self { volume, file, first, next: first };
        log.check_records()?;
        Ok(log)
    }

    fn check_records(&mut self) -> Result<(), String> {
        let (mut at, len) = (0, self.volume.len(self.file).map_err(text)?);
        while at < len {
            let expected = record(self.next);
            let mut found = alloc::vec![0; expected.len()];
            read_all(&self.volume, self.file, at, &mut found)?;
            if found != expected {
                return Err(format!("record {} is not what was written", self.next));
            }
            at += found.len() as u64;
            self.next += 1;
        }
        Ok(())
    }

    /// Appends a record, and makes it durable.
    fn append(&mut self) -> Result<(), Error> {
        let bytes = record(self.next);
        let mut written = 0;
        while written < bytes.len() {
            written += self.volume.append(self.file, &bytes[written..])?;
        }
        self.volume.commit()?;
        self.next += 1;
        if self.next == self.first + SEGMENT {
            self.begin_segment()?;
        }
        Ok(())
    }

    /// Replaces the log by a base and an empty log.
    fn begin_segment(&mut self) -> Result<(), Error> {
        self.volume.close(self.file)?;
        self.volume.remove(&log_name(self.first))?;
        write_base(&mut self.volume, self.next)?;
        self.file = self.volume.open_file(&log_name(self.next))?;
        self.first = self.next;
        Ok(())
    }
}

/// Writes a base, and an empty log behind it, at once.
fn write_base(volume: &mut Volume<BlockDevice>, first: u64) -> Result<(), Error> {
    let base = volume.create(NEW_BASE)?;
    volume.append(base, &first.to_le_bytes())?;
    volume.close(base)?;
    volume.rename(NEW_BASE, BASE)?;
    let log = volume.create(&log_name(first))?;
    volume.close(log)?;
    volume.commit()
}

fn read_base(volume: &mut Volume<BlockDevice>) -> Result<u64, String> {
    let file = volume.open_file(BASE).map_err(text)?;
    let mut first = [0; 8];
    read_all(volume, file, 0, &mut first)?;
    volume.close(file).map_err(text)?;
    Ok(u64::from_le_bytes(first))
}

fn read_all(volume: &Volume<BlockDevice>, file: FileId, at: u64, buffer: &mut [u8]) -> Result<(), String> {
    let mut read = 0;
    while read < buffer.len() {
        match volume.read_at(file, at + read as u64, &mut buffer[read..]).map_err(text)? {
            0 => return Err("a file ends within a record".into()),
            count => read += count,
        }
    }
    Ok(())
}

fn keep_log(machine: &Machine, device: BlockDevice, count: u64) -> Result<(), String> {
    let mut log = Log::open(device)?;
    println!("found {}", log.next);
    let (end, begin) = (log.next + count, machine.uptime());
    while log.next < end {
        log.append().map_err(text)?;
        println!("durable {}", log.next);
    }
    println!("{count} records, each made durable, in {:?}", machine.uptime() - begin);
    Ok(())
}

/// Writes and reads an area of its own on each core, all at a time.
fn use_all_cores(machine: &'static Machine, device: BlockDevice, rounds: u64) -> Result<(), String> {
    let device = Arc::new(device);
    let rt = machine.runtime().build().map_err(text)?;
    let use_area = |core: u16| {
        let device = device.clone();
        let work = move || (0..rounds).try_for_each(|round| use_area(&device, core.into(), round));
        rt.task(()).core(core).submit(move |(), _cx| work())
    };
    let handles: Vec<_> = (0..rt.workers() as u16).map(use_area).collect();
    handles.into_iter().try_for_each(|handle| handle.join().map_err(text)?)?;
    println!("{} cores, {rounds} rounds of {AREA} bytes each", rt.workers());
    Ok(())
}

fn use_area(device: &BlockDevice, core: u64, round: u64) -> Result<(), String> {
    let sector = core * (AREA / SECTOR) as u64;
    let bytes: Vec<_> = (0..AREA as u64).map(|at| (at / 512 + at + core * 31 + round * 7) as u8).collect();
    device.write(sector, &bytes).map_err(text)?;
    device.flush().map_err(text)?;
    let mut found = alloc::vec![0; AREA];
    device.read(sector, &mut found).map_err(text)?;
    if found == bytes { Ok(()) } else { Err(format!("core {core} reads other bytes than it wrote")) }
}
