//! Workloads A to F as YCSB defines them, as property files.

use super::{Workload, properties};

/// The names and property files of the standard workloads.
pub const STANDARD: [(&str, &str); 6] = [
    ("A", include_str!("../../workloads/a.properties")),
    ("B", include_str!("../../workloads/b.properties")),
    ("C", include_str!("../../workloads/c.properties")),
    ("D", include_str!("../../workloads/d.properties")),
    ("E", include_str!("../../workloads/e.properties")),
    ("F", include_str!("../../workloads/f.properties")),
];

/// Returns the standard workload of a letter, in upper or lower case; or `None` if there is none.
pub fn standard(name: &str) -> Option<Workload> {
    let (name, text) = STANDARD.iter().find(|(letter, _)| letter.eq_ignore_ascii_case(name))?;
    let mut workload = Workload::new(*name);
    let properties = properties::parse(text).expect("the standard workloads are valid");
    workload.apply(&properties).expect("the standard workloads are valid");
    Some(workload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::OperationKind::{Insert, Read, ReadModifyWrite, Scan, Update};
    use crate::workload::RequestDistribution::{Latest, Zipfian};

    #[test]
    fn the_standard_workloads_match_ycsb() {
        for (name, mix, distribution) in [
            ("a", vec![(Read, 0.5), (Update, 0.5)], Zipfian),
            ("b", vec![(Read, 0.95), (Update, 0.05)], Zipfian),
            ("c", vec![(Read, 1.0)], Zipfian),
            ("d", vec![(Read, 0.95), (Insert, 0.05)], Latest),
            ("e", vec![(Scan, 0.95), (Insert, 0.05)], Zipfian),
            ("f", vec![(Read, 0.5), (ReadModifyWrite, 0.5)], Zipfian),
        ] {
            let workload = standard(name).unwrap();
            workload.validate().unwrap();
            assert_eq!(workload.name, name.to_uppercase());
            assert_eq!(workload.request_distribution, distribution, "{name}");
            for (kind, proportion) in mix {
                assert_eq!(workload.proportion(kind), proportion, "{name}: {}", kind.name());
            }
        }
        assert_eq!(standard("E").unwrap().max_scan_length, 100);
        assert!(standard("G").is_none());
    }
}
