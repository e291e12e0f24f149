//! Any bytes are read or refused.

use super::super::record::decode_value;
use super::super::{codes, dump, restore};
use super::encodings::{listpack, ziplist};
use super::files::{file_of, read_all, read_copied, read_in_place};
use super::small_values;
use crate::value::CompactLimits;
use proptest::prelude::*;
use std::sync::LazyLock;

static SEEDS: LazyLock<Vec<(u8, Vec<u8>)>> = LazyLock::new(seeds);

/// Types, and a value of each to begin with.
fn seeds() -> Vec<(u8, Vec<u8>)> {
    let mut seeds: Vec<_> =
        small_values().iter().map(dump).map(|dump| (dump[0], dump[1..].to_vec())).collect();
    let pairs: &[(&[u8], &str)] = &[(b"\x03abc", ""), (b"\xf1", ""), (b"\xc0\x00\x80", ""), (b"\xfd", "")];
    let zip = ziplist(pairs);
    let pack = listpack(&[(b"\x83abc", ""), (b"\x05", ""), (b"\xf2\xff\xff\x7f", ""), (b"\x812", "")]);
    let one = |bytes: &[u8]| [&[bytes.len() as u8], bytes].concat();
    seeds.extend(
        [codes::LIST_ZIPLIST, codes::HASH_ZIPLIST, codes::SORTED_SET_ZIPLIST].map(|code| (code, one(&zip))),
    );
    seeds.extend(
        [codes::SET_LISTPACK, codes::HASH_LISTPACK, codes::SORTED_SET_LISTPACK]
            .map(|code| (code, one(&pack))),
    );
    seeds.push((codes::LIST_QUICKLIST, [&[1][..], &one(&zip)].concat()));
    seeds.push((codes::LIST_QUICKLIST_2, [&[1, 2][..], &one(&pack)].concat()));
    seeds.push((codes::HASH_ZIPMAP, one(b"\x01\x03foo\x03\x00bar\xff")));
    seeds.push((codes::SET_INTSET, one(b"\x02\x00\x00\x00\x01\x00\x00\x00\x07\x00")));
    seeds.push((codes::STRING, b"\xc3\x06\x10\x01aa\xe0\x05\x00".to_vec()));
    seeds
}

fn change(bytes: &mut Vec<u8>, changes: &[(usize, u8)], cut: usize) {
    for &(at, with) in changes {
        let len = bytes.len();
        if len > 0 {
            bytes[at % len] = with;
        }
    }
    bytes.truncate(bytes.len().saturating_sub(cut));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_values_are_read_or_refused(
        seed in any::<proptest::sample::Index>(),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        cut in 0_usize..4,
    ) {
        let (code, mut bytes) = SEEDS[seed.index(SEEDS.len())].clone();
        change(&mut bytes, &changes, cut);
        let value = decode_value(code, &bytes, 0, &CompactLimits::default());
        if let Ok(Some(value)) = value {
            prop_assert!(restore(&dump(&value), &CompactLimits::default()).is_ok());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        code in 0_u8..24,
        bytes in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let _ = decode_value(code, &bytes, 0, &CompactLimits::default());
        let _ = restore(&bytes, &CompactLimits::default());
        let _ = read_all(&[b"REDIS0010", &[code][..], &bytes].concat()[..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn changed_files_are_read_or_refused(
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        cut in 0_usize..4,
    ) {
        let mut file = file_of(&small_values());
        // Changes near the start hit lengths and types more often.
        let changes: Vec<_> = changes.iter().map(|&(at, with)| (at % file.len() % 4000, with)).collect();
        change(&mut file, &changes, cut);
        let _ = read_all(&file[..]);
        prop_assert_eq!(read_in_place(&file[..]), read_copied(&file[..]));
    }
}
