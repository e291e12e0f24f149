//! The tables of ACPI that say which cores and nodes there are, and where the timer is.

/// The tables that are read, by their signatures.
const CORES: &[u8; 4] = b"APIC";
const AFFINITY: &[u8; 4] = b"SRAT";
const DISTANCES: &[u8; 4] = b"SLIT";
const FIXED: &[u8; 4] = b"FACP";

/// Bytes of the header of each table.
const HEADER: usize = 36;

/// What the tables say, part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// A core that can be started.
    Core { apic_id: u8 },
    /// The node of a core, by the firmware's number.
    CoreNode { apic_id: u8, node: u32 },
    /// The node of a run of memory.
    MemoryNode { start: usize, end: usize, node: u32 },
    /// How far a node's memory is from another node's cores: 10 is its own.
    Distance { from: u32, to: u32, distance: u8 },
    /// The port of the timer that counts 3,579,545 times a second.
    Timer { port: u16 },
}

/// Reads a number of `N` bytes, the lowest first. Returns 0 beyond the end.
fn number<const N: usize>(table: &[u8], at: usize) -> u64 {
    whole_number(table.get(at..at + N).unwrap_or_default())
}

/// Reads a number that takes all of these bytes, up to 8.
fn whole_number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Calls `visit` with all that a table says.
pub(crate) fn read_table(table: &[u8], visit: &mut dyn FnMut(Fact)) {
    match table.get(..4) {
        Some(name) if name == CORES => entries(table, HEADER + 8, |entry| {
            let (is_enabled, apic_id) = (number::<4>(entry, 4) & 1 != 0, number::<1>(entry, 3) as u8);
            if entry[0] == 0 && is_enabled {
                visit(Fact::Core { apic_id });
            }
        }),
        Some(name) if name == AFFINITY => entries(table, HEADER + 12, |entry| match entry[0] {
            0 if number::<4>(entry, 4) & 1 != 0 => {
                let node = number::<1>(entry, 2) | number::<3>(entry, 9) << 8;
                visit(Fact::CoreNode { apic_id: number::<1>(entry, 3) as u8, node: node as u32 });
            }
            1 if number::<4>(entry, 28) & 1 != 0 => {
                let start = number::<8>(entry, 8) as usize;
                let end = start.saturating_add(number::<8>(entry, 16) as usize);
                visit(Fact::MemoryNode { start, end, node: number::<4>(entry, 2) as u32 });
            }
            _ => {}
        }),
        Some(name) if name == DISTANCES => {
            let nodes = number::<8>(table, HEADER).min(256) as usize;
            for (at, &distance) in table.iter().skip(HEADER + 8).take(nodes * nodes).enumerate() {
                visit(Fact::Distance { from: (at / nodes) as u32, to: (at % nodes) as u32, distance });
            }
        }
        Some(name) if name == FIXED => match number::<4>(table, 76) as u16 {
            0 => {}
            port => visit(Fact::Timer { port }),
        },
        _ => {}
    }
}

/// Calls `visit` with each entry of a table; an entry has a kind and its length first.
fn entries(table: &[u8], mut at: usize, mut visit: impl FnMut(&[u8])) {
    while let Some(&length) = table.get(at + 1)
        && length >= 2
        && let Some(entry) = table.get(at..at + usize::from(length))
    {
        visit(entry);
        at += usize::from(length);
    }
}

/// Calls `visit` with all that the tables below a root pointer say.
///
/// # Safety
///
/// The tables are in memory that is mapped to itself, and `rsdp` is the address of the root
/// pointer.
#[cfg(bare)]
pub(crate) unsafe fn read_all(rsdp: usize, visit: &mut dyn FnMut(Fact)) {
    /// # Safety
    ///
    /// There is a table at the address, as long as it says.
    unsafe fn table(at: usize) -> &'static [u8] {
        // SAFETY: the table begins with its name and its length.
        unsafe {
            let bytes = (at as *const u32).add(1).read_unaligned() as usize;
            core::slice::from_raw_parts(at as *const u8, bytes.max(HEADER))
        }
    }
    // SAFETY: the root pointer has 20 bytes at least, and 36 from its second revision on.
    let root = unsafe { core::slice::from_raw_parts(rsdp as *const u8, 36) };
    let has_long = root[15] >= 2 && number::<8>(root, 24) != 0;
    let (at, width) = if has_long { (number::<8>(root, 24), 8) } else { (number::<4>(root, 16), 4) };
    // SAFETY: the root pointer leads to the list of all tables, and the list to the tables.
    let list = unsafe { table(at as usize) };
    for pointer in list[HEADER..].chunks_exact(width) {
        // SAFETY: as above.
        read_table(unsafe { table(whole_number(pointer) as usize) }, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with a name, and a body after its header.
    fn table(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let mut table = name.to_vec();
        table.extend(((HEADER + body.len()) as u32).to_le_bytes());
        table.resize(HEADER, 0);
        table.extend(body);
        table
    }

    fn facts(name: &[u8; 4], body: &[u8]) -> Vec<Fact> {
        let mut facts = Vec::new();
        read_table(&table(name, body), &mut |fact| facts.push(fact));
        facts
    }

    #[test]
    fn cores_that_are_off_do_not_count() {
        let mut body = vec![0; 8];
        body.extend([0, 8, 0, 7, 1, 0, 0, 0]);
        body.extend([1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        body.extend([0, 8, 1, 9, 0, 0, 0, 0]);
        body.extend([0, 8, 2, 3, 1, 0, 0, 0]);
        assert_eq!(facts(CORES, &body), [Fact::Core { apic_id: 7 }, Fact::Core { apic_id: 3 }]);
    }

    #[test]
    fn memory_and_cores_have_nodes() {
        let mut body = vec![0; 12];
        body.extend([0, 16, 2, 5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        let mut memory = [0; 40];
        (memory[0], memory[1], memory[2], memory[28]) = (1, 40, 3, 1);
        (memory[11], memory[19]) = (1, 2);
        body.extend(memory);
        let expected = [
            Fact::CoreNode { apic_id: 5, node: 0x102 },
            Fact::MemoryNode { start: 1 << 24, end: 3 << 24, node: 3 },
        ];
        assert_eq!(facts(AFFINITY, &body), expected);
    }

    #[test]
    fn distances_are_read_row_by_row() {
        let body = [2, 0, 0, 0, 0, 0, 0, 0, 10, 20, 30, 10];
        let distance = |from, to, distance| Fact::Distance { from, to, distance };
        let expected = [distance(0, 0, 10), distance(0, 1, 20), distance(1, 0, 30), distance(1, 1, 10)];
        assert_eq!(facts(DISTANCES, &body), expected);
    }

    #[test]
    fn the_timer_has_a_port() {
        let mut body = [0; 80];
        body[76 - HEADER..78 - HEADER].copy_from_slice(&0x608u16.to_le_bytes());
        assert_eq!(facts(FIXED, &body), [Fact::Timer { port: 0x608 }]);
    }

    #[test]
    fn broken_tables_end_early() {
        let mut body = vec![0; 8];
        body.extend([0, 0, 0, 7, 1, 0, 0, 0]);
        assert_eq!(facts(CORES, &body), []);
        let mut body = vec![0; 8];
        body.extend([0, 200, 0, 7, 1, 0, 0, 0]);
        assert_eq!(facts(CORES, &body), []);
        assert_eq!(facts(b"NONE", &[1, 2, 3]), []);
    }
}
