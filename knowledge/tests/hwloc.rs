//! Machines as hwloc describes them. The files in `tests/hwloc` were written by `lstopo --of xml` of version 2.9 from
//! synthetic descriptions, and lessened by what is not read.

mod support;

use proptest::prelude::*;
use support::{coherent, machine};
use xtasking_knowledge::facts::{CacheKind, CoreKind, Facts};
use xtasking_knowledge::{Bound, Knowledge, Request, hwloc};

const AMD: &str =
    "package:4 [numa(memory=4294967296)] l3:1(size=6291456) l2:4(size=524288) l1d:1(size=65536) core:1 pu:1";
const THREADS: &str = "numa:2 l2:2 l1d:1 l1i:1 core:1 pu:2(indexes=0,4,1,5,2,6,3,7)";
const WRITTEN: [(&str, &str); 2] =
    [(AMD, include_str!("hwloc/amd-4x4.xml")), (THREADS, include_str!("hwloc/threads.xml"))];

fn gaps(facts: &Facts) -> Vec<&str> {
    facts.gaps.iter().map(|gap| gap.about.as_str()).collect()
}

#[test]
fn a_description_is_what_hwloc_makes_of_it() {
    for (description, written) in WRITTEN {
        let (read, described) = (hwloc::machine(written).unwrap(), hwloc::machine(description).unwrap());
        assert_eq!(read, described);
        coherent(&read);
    }
}

#[test]
fn the_papers_machine_is_that_of_its_files() {
    let (described, read) = (hwloc::synthetic(AMD).unwrap(), machine("amd-4x4"));
    assert_eq!((&described.cpus, &described.caches), (&read.cpus, &read.caches));
    assert_eq!(described.memory, read.memory);
    assert_eq!(gaps(&described), ["distances", "limits"]);
    let request = Request { most: Some(6), ..Request::new(6 << 30, Bound::Memory) };
    let plan = Knowledge::new(described).best_plan(&request, None).unwrap();
    assert_eq!(plan.cpus().to_string(), "0-1,4-5,8,12");
}

#[test]
fn threads_and_caches_of_two_kinds() {
    let facts = hwloc::synthetic(THREADS).unwrap();
    let cores: Vec<_> = facts.cpus.iter().map(|cpu| (cpu.core, cpu.node)).collect();
    assert_eq!(cores, [(0, 0), (1, 0), (2, 1), (3, 1), (0, 0), (1, 0), (2, 1), (3, 1)]);
    let first: Vec<_> =
        facts.caches.iter().filter(|cache| cache.level == 1).map(|cache| cache.kind).collect();
    assert_eq!(first, [[CacheKind::Data; 4], [CacheKind::Instruction; 4]].concat());
    assert_eq!(facts.caches.last().map(|cache| (cache.level, cache.size)), Some((2, 4 << 20)));
    assert_eq!(gaps(&facts), ["packages", "distances", "limits"]);
}

/// Two fast CPUs of one core and a thrifty one, in two nodes, of which one is near to the same CPUs as the other.
const HYBRID: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x00000007" allowed_cpuset="0x00000006" nodeset="0x00000003" allowed_nodeset="0x00000003">
    <info name="CPUModel" value="Made up"/>
    <object type="NUMANode" os_index="1" cpuset="0x00000007"/>
    <object type="NUMANode" os_index="0" cpuset="0x00000007" local_memory="8589934592"/>
    <object type="Package" os_index="3" cpuset="0x00000007">
      <object type="L2Cache" cpuset="0x00000003" cache_size="1048576" depth="2" cache_linesize="64" cache_type="0">
        <object type="Core" cpuset="0x00000003"><object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/></object>
      </object>
      <object type="L2Cache" cpuset="0x00000004" depth="2" cache_type="0">
        <object type="Core" cpuset="0x00000004"><object type="PU" os_index="2" cpuset="0x4"/></object>
      </object>
    </object>
    <object type="Flux" name="capacitor"/>
    <object type="Bridge" bridge_type="0-1"><object type="PCIDev"><object type="OSDev" name="vda"/></object></object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">1 0 </indexes><u64values length="12">10 20 30 11 </u64values>
  </distances2>
  <cpukind cpuset="0x00000004"><info name="CoreType" value="IntelAtom"/><info name="LinuxCapacity" value="500"/></cpukind>
  <cpukind cpuset="0x00000003" forced_efficiency="1"><info name="CoreType" value="IntelCore"/></cpukind>
</topology>"#;

#[test]
fn what_is_uneven_or_unknown() {
    let facts = hwloc::xml(HYBRID).unwrap();
    coherent(&facts);
    assert_eq!(facts.model.as_deref(), Some("Made up"));
    let kinds: Vec<_> = facts.cpus.iter().map(|cpu| (cpu.core, cpu.kind, cpu.capacity)).collect();
    let (fast, thrifty) = (Some(CoreKind::Performance), Some(CoreKind::Efficiency));
    assert_eq!(kinds, [(0, fast, None), (0, fast, None), (1, thrifty, Some(500))]);
    assert_eq!(facts.limits.group, Some("1-2".parse().unwrap()));
    assert_eq!(facts.limits.nodes, None);
    // The table tells of node 1 first.
    let nodes: Vec<_> = facts.nodes.iter().map(|node| (node.memory, node.distances.clone())).collect();
    assert_eq!(nodes, [(Some(8 << 30), vec![11, 30]), (None, vec![20, 10])]);
    assert_eq!((facts.nodes[0].cpus.to_string().as_str(), facts.nodes[1].cpus.is_empty()), ("0-2", true));
    assert_eq!(facts.caches.len(), 1);
    assert_eq!(gaps(&facts), ["caches", "objects", "memory of node 1", "CPUs of node 1", "limits"]);
}

#[test]
fn memories_are_numbered_from_the_inside() {
    let facts = hwloc::synthetic("[numa(memory=3GiB)] package:2 [numa(memory=2GB)] core:1 pu:1").unwrap();
    let memories: Vec<_> =
        facts.nodes.iter().map(|node| (node.id, node.memory, node.cpus.to_string())).collect();
    let gb = Some(2_000_000_000);
    assert_eq!(memories, [(0, gb, "0".into()), (1, gb, "1".into()), (2, Some(3 << 30), String::new())]);
}

#[test]
fn what_is_no_machine_is_refused_with_a_reason() {
    let one = "<topology><object type=\"System\"/></topology>";
    for (text, why) in [
        ("", "the last level, and no other, is `pu`"),
        ("core:2", "the last level, and no other, is `pu`"),
        ("pu:2 core:2", "the last level, and no other, is `pu`"),
        ("2 2", "`2` is no level such as `core:4`"),
        ("die:x pu:1", "`die:x` has no number of what it is"),
        ("package:0 pu:1", "`package:0` has no number of what it is"),
        ("engine:2 pu:1", "`engine` is no type of a level"),
        ("l9:1 pu:1", "`l9` is no type of a level"),
        ("package:2 package:2 pu:1", "two levels are of one type"),
        ("core:2 package:2 pu:1", "packages are in cores"),
        ("numa:2 package:1 [numa] pu:1", "nodes are a level and attached to another too"),
        ("package:1 [core] pu:1", "`core` is attached, which only `numa` can be, without a number"),
        ("package:1 [numa pu:1", "a `[` has no `]`"),
        ("l2:1(size=1MiB pu:1", "a `(` has no `)`"),
        ("l2:1(size=much) pu:1", "`size=much` is not understood"),
        ("core:1(colour=red) pu:1", "`colour=red` is not understood"),
        ("pu:4(indexes=0,1,2,2)", "`indexes` are not 4 different numbers"),
        ("package:60000 pu:60000", "there are more than 65536 CPUs"),
        (one, "it is a topology of hwloc 1: write it anew with `lstopo --of xml` of hwloc 2"),
        ("<topology version=\"3.0\"/>", "it is a topology of version 3.0: version 2 is understood"),
        ("<html/>", "it is `html`, not a topology of hwloc"),
        ("<topology version=\"2.0\"/>", "no CPU is described"),
    ] {
        assert_eq!(hwloc::machine(text).unwrap_err().to_string(), why, "{text}");
    }
    let error = hwloc::machine("<topology").unwrap_err().to_string();
    assert!(error.starts_with("it is no XML: "), "{error}");
    let twice = HYBRID.replace("type=\"PU\" os_index=\"1\"", "type=\"PU\" os_index=\"0\"");
    assert_eq!(
        hwloc::xml(&twice).unwrap_err().to_string(),
        "two CPUs are described that have the same number"
    );
}

#[test]
fn depth_is_no_danger() {
    let deep = "<object type=\"Group\">".repeat(200_000);
    let closed = "</object>".repeat(200_000);
    let text = format!("<topology version=\"2.0\">{deep}{closed}</topology>");
    assert!(hwloc::xml(&text).is_err());
    assert!(hwloc::synthetic(&"[".repeat(100_000)).is_err());
    assert!(hwloc::synthetic(&"die:1 ".repeat(100_000)).is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}", xml in any::<bool>()) {
        let text = if xml { format!("<{text}") } else { text };
        if let Ok(facts) = hwloc::machine(&text) {
            coherent(&facts);
        }
    }

    #[test]
    fn any_levels_are_read_or_refused(
        levels in prop::collection::vec("(package|core|pu|numa|l[1-4][di]?|group|\\[numa\\]|2)(:[0-4])?(\\((size|memory|indexes)=[0-9,]{1,5}(MiB|GB)?\\))?", 1..6),
    ) {
        if let Ok(facts) = hwloc::machine(&levels.join(" ")) {
            coherent(&facts);
        }
    }

    /// A part of a description is lost, or comes twice, or is another.
    #[test]
    fn whatever_happens_to_xml(from in 0..HYBRID.len(), length in 0..120_usize, to in 0..HYBRID.len(), by in "[0-9a-fx<>\"/ ]{0,8}") {
        let end = (from + length).min(HYBRID.len());
        let part = &HYBRID[from..end];
        let lost = format!("{}{by}{}", &HYBRID[..from], &HYBRID[end..]);
        let twice = format!("{}{part}{}", &HYBRID[..to], &HYBRID[to..]);
        for text in [lost, twice] {
            if let Ok(facts) = hwloc::machine(&text) {
                coherent(&facts);
            }
        }
    }
}
