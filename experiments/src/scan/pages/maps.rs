//! Reads the mappings of a process, and the nodes of their pages, from Linux's
//! `/proc/self/numa_maps`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Bytes by node, under the system's numbers.
pub(super) type ByNode = BTreeMap<u32, u64>;

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    /// Its first address.
    start: usize,
    /// Its bytes in memory.
    pub bytes: ByNode,
}

/// All mappings, in ascending order of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Maps(Vec<Mapping>);

impl Maps {
    /// Reads those of this process, where its system has the file.
    pub fn here() -> Result<Self, String> {
        Self::read(Path::new("/proc/self/numa_maps"))
    }

    fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| {
            format!("`{}`, Linux's table of memory by node, cannot be read: {error}", path.display())
        })?;
        Self::parse(&text).map_err(|line| format!("`{}` contains an unknown line: {line:?}", path.display()))
    }

    /// Parses the lines. The error is the line that is malformed.
    fn parse(text: &str) -> Result<Self, &str> {
        let mut maps = text.lines().map(|line| mapping(line).ok_or(line)).collect::<Result<Vec<_>, _>>()?;
        maps.sort_by_key(|mapping| mapping.start);
        Ok(Self(maps))
    }

    /// Returns the index of the mapping that contains `address`, or that would.
    pub fn of(&self, address: usize) -> Option<usize> {
        self.0.partition_point(|mapping| mapping.start <= address).checked_sub(1)
    }

    /// Returns an upper bound for the end of the mapping.
    pub fn end(&self, index: usize) -> usize {
        self.0.get(index + 1).map_or(usize::MAX, |next| next.start)
    }

    /// Returns the mapping with this index.
    pub fn get(&self, index: usize) -> &Mapping {
        &self.0[index]
    }
}

/// Parses an address, a policy, and details: `N`, the node, `=` and the number of pages, for each
/// node that has some.
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let start = usize::from_str_radix(words.next()?, 16).ok()?;
    // The policy.
    words.next()?;
    let (mut pages, mut size) = (ByNode::new(), None);
    for word in words {
        let Some((name, value)) = word.split_once('=') else { continue };
        if name == "kernelpagesize_kB" {
            size = Some(value.parse::<u64>().ok()?.checked_mul(1024)?);
        } else if let Some(Ok(node)) = name.strip_prefix('N').map(str::parse) {
            pages.insert(node, value.parse().ok()?);
        }
    }
    // The size is optional for a mapping without pages.
    let size = if pages.is_empty() { size.unwrap_or(0) } else { size? };
    let bytes = pages.into_iter().map(|(node, pages)| Some((node, pages.checked_mul(size)?)));
    Some(Mapping { start, bytes: bytes.collect::<Option<_>>()? })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// From a machine with two nodes: a heap for each of two threads, and huge pages.
    pub const TWO_NODES: &str = "\
559d0e200000 default file=/opt/a\\040name/N1=x mapped=12 active=0 N0=12 kernelpagesize_kB=4
559d0f000000 default heap anon=33 dirty=33 N0=32 N1=1 kernelpagesize_kB=4
7f1c00000000 default anon=1000 dirty=1000 active=0 N0=1000 kernelpagesize_kB=4
7f1c04000000 default anon=800 dirty=800 active=0 N0=200 N1=600 kernelpagesize_kB=4
7f1c08000000 default
7f1c10000000 prefer:1 anon=3 dirty=3 N1=3 kernelpagesize_kB=2048
7ffd6b000000 default stack anon=9 dirty=9 N1=9 kernelpagesize_kB=4
";

    pub fn two_nodes() -> Maps {
        Maps::parse(TWO_NODES).unwrap()
    }

    #[test]
    fn pages_are_summed_by_node() {
        let maps = two_nodes();
        let bytes = |address: usize| maps.get(maps.of(address).unwrap()).bytes.clone();
        assert_eq!(bytes(0x559d_0e20_0000), [(0, 12 << 12)].into());
        assert_eq!(bytes(0x559d_0f00_0000 + 5), [(0, 32 << 12), (1, 1 << 12)].into());
        assert_eq!(bytes(0x7f1c_0000_0000 - 1), bytes(0x559d_0f00_0000));
        assert_eq!(bytes(0x7f1c_0400_0001), [(0, 200 << 12), (1, 600 << 12)].into());
        assert_eq!(bytes(0x7f1c_0800_0000), ByNode::new());
        assert_eq!(bytes(0x7f1c_1000_0000), [(1, 6 << 20)].into());
        assert_eq!(bytes(usize::MAX), [(1, 9 << 12)].into());
        assert_eq!(maps.of(0), None);
        assert_eq!(maps.end(maps.of(0x7f1c_0000_0000).unwrap()), 0x7f1c_0400_0000);
        assert_eq!(maps.end(maps.of(usize::MAX).unwrap()), usize::MAX);
    }

    #[test]
    fn a_malformed_line_is_named_in_the_error() {
        for line in ["x default", "7f00", "7f00 default N0=many kernelpagesize_kB=4", "7f00 default N0=1"] {
            let text = format!("7e00 default\n{line}\n");
            assert_eq!(Maps::parse(&text), Err(line));
        }
        let missing = Maps::read(Path::new("/nowhere/numa_maps")).unwrap_err();
        assert!(missing.starts_with("`/nowhere/numa_maps`, Linux's table of memory by node"), "{missing}");
    }

    /// At least the heap is in memory.
    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory() {
        let boxed = Box::new([1u8; 4096]);
        match Maps::here() {
            Ok(maps) => {
                let index = maps.of(std::ptr::from_ref(&*boxed).addr()).unwrap();
                assert!(maps.get(index).bytes.values().sum::<u64>() >= 4096);
            }
            // Some systems lack the file.
            Err(why) => assert!(why.contains("cannot be read"), "{why}"),
        }
    }
}
