//! Descriptions by hwloc. `lstopo --of xml` 2.9 wrote the files in `tests/hwloc` from synthetic
//! descriptions; content that is not read was removed.

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
fn a_description_equals_the_xml_written_for_it() {
    for (description, written) in WRITTEN {
        let (read, described) = (hwloc::machine(written).unwrap(), hwloc::machine(description).unwrap());
        assert_eq!(read, described);
        coherent(&read);
    }
}

#[test]
fn the_described_machine_equals_that_of_its_files() {
    let (described, read) = (hwloc::synthetic(AMD).unwrap(), machine("amd-4x4"));
    assert_eq!((&described.cpus, &described.caches), (&read.cpus, &read.caches));
    assert_eq!(described.memory, read.memory);
    assert_eq!(gaps(&described), ["distances", "limits"]);
    let request = Request { partitions_max: Some(6), ..Request::new(6 << 30, Bound::Memory) };
    let plan = Knowledge::new(described).best_plan(&request, None).unwrap();
    assert_eq!(plan.cpus().to_string(), "0-1,4-5,8,12");
}

#[test]
fn threads_and_split_caches_are_described() {
    let facts = hwloc::synthetic(THREADS).unwrap();
    let cores: Vec<_> = facts.cpus.iter().map(|cpu| (cpu.core, cpu.node)).collect();
    assert_eq!(cores, [(0, 0), (1, 0), (2, 1), (3, 1), (0, 0), (1, 0), (2, 1), (3, 1)]);
    let first: Vec<_> =
        facts.caches.iter().filter(|cache| cache.level == 1).map(|cache| cache.kind).collect();
    assert_eq!(first, [[CacheKind::Data; 4], [CacheKind::Instruction; 4]].concat());
    assert_eq!(facts.caches.last().map(|cache| (cache.level, cache.size)), Some((2, 4 << 20)));
    assert_eq!(gaps(&facts), ["packages", "distances", "limits"]);
}

/// Short descriptions of machines that cannot be are refused before they take memory and time.
#[test]
fn descriptions_have_bounds() {
    let nodes = "there are more than 1024 nodes";
    let attached = format!("pu:65536{}", " [numa]".repeat(64));
    for (text, why) in [
        ("numa:65536 pu:1", nodes),
        (&attached, nodes),
        ("core:1 pu:65536", "a core has 65536 CPUs; at most 256 are supported"),
    ] {
        assert_eq!(hwloc::synthetic(text).unwrap_err().to_string(), why, "{text}");
    }
    let facts = hwloc::synthetic("numa:1024 core:2 pu:1").unwrap();
    assert_eq!((facts.cpus.len(), facts.cpus[2047].node), (2048, 1023));
    let nodes: String =
        (0..1025).map(|id| format!("<object type='NUMANode' os_index='{id}' cpuset='0x1'/>")).collect();
    let xml = format!("<topology version='2.0'><object type='PU' os_index='0'/>{nodes}</topology>");
    assert_eq!(hwloc::xml(&xml).unwrap_err().to_string(), "there are more than 1024 nodes");
}

/// Two fast CPUs of one core and an efficient one, in two nodes that claim the same CPUs.
const HYBRID: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x00000007" allowed_cpuset="0x00000006"
          nodeset="0x00000003" allowed_nodeset="0x00000003">
    <info name="CPUModel" value="Made up"/>
    <object type="NUMANode" os_index="1" cpuset="0x00000007"/>
    <object type="NUMANode" os_index="0" cpuset="0x00000007" local_memory="8589934592"/>
    <object type="Package" os_index="3" cpuset="0x00000007">
      <object type="L2Cache" cpuset="0x00000003" cache_size="1048576" depth="2" cache_linesize="64"
              cache_type="0">
        <object type="Core" cpuset="0x00000003">
          <object type="PU" os_index="0" cpuset="0x1"/>
          <object type="PU" os_index="1" cpuset="0x2"/>
        </object>
      </object>
      <object type="L2Cache" cpuset="0x00000004" depth="2" cache_type="0">
        <object type="Core" cpuset="0x00000004"><object type="PU" os_index="2" cpuset="0x4"/></object>
      </object>
    </object>
    <object type="Flux" name="capacitor"/>
    <object type="Bridge" bridge_type="0-1">
      <object type="PCIDev"><object type="OSDev" name="vda"/></object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">1 0 </indexes><u64values length="12">10 20 30 11 </u64values>
  </distances2>
  <cpukind cpuset="0x00000004">
    <info name="CoreType" value="IntelAtom"/><info name="LinuxCapacity" value="500"/>
  </cpukind>
  <cpukind cpuset="0x00000003" forced_efficiency="1"><info name="CoreType" value="IntelCore"/></cpukind>
</topology>"#;

#[test]
fn uneven_and_unknown_objects_are_handled() {
    let facts = hwloc::xml(HYBRID).unwrap();
    coherent(&facts);
    assert_eq!(facts.model.as_deref(), Some("Made up"));
    let kinds: Vec<_> = facts.cpus.iter().map(|cpu| (cpu.core, cpu.kind, cpu.capacity)).collect();
    let (fast, thrifty) = (Some(CoreKind::Performance), Some(CoreKind::Efficiency));
    assert_eq!(kinds, [(0, fast, None), (0, fast, None), (1, thrifty, Some(500))]);
    assert_eq!(facts.limits.group, Some("1-2".parse().unwrap()));
    assert_eq!(facts.limits.nodes, None);
    // The table lists node 1 first.
    let nodes: Vec<_> = facts.nodes.iter().map(|node| (node.memory, node.distances.clone())).collect();
    assert_eq!(nodes, [(Some(8 << 30), vec![11, 30]), (None, vec![20, 10])]);
    assert_eq!((facts.nodes[0].cpus.to_string().as_str(), facts.nodes[1].cpus.is_empty()), ("0-2", true));
    assert_eq!(facts.caches.len(), 1);
    assert_eq!(gaps(&facts), ["caches", "objects", "memory of node 1", "CPUs of node 1", "limits"]);
}

#[test]
fn inner_memories_are_numbered_first() {
    let facts = hwloc::synthetic("[numa(memory=3GiB)] package:2 [numa(memory=2GB)] core:1 pu:1").unwrap();
    let memories: Vec<_> =
        facts.nodes.iter().map(|node| (node.id, node.memory, node.cpus.to_string())).collect();
    let gb = Some(2_000_000_000);
    assert_eq!(memories, [(0, gb, "0".into()), (1, gb, "1".into()), (2, Some(3 << 30), String::new())]);
}

#[test]
fn invalid_descriptions_are_refused_with_a_reason() {
    let one = "<topology><object type=\"System\"/></topology>";
    for (text, why) in [
        ("", "the last level, and no other, must be `pu`"),
        ("core:2", "the last level, and no other, must be `pu`"),
        ("pu:2 core:2", "the last level, and no other, must be `pu`"),
        ("2 2", "`2` is not a valid level such as `core:4`"),
        ("die:x pu:1", "`die:x` has no valid count"),
        ("package:0 pu:1", "`package:0` has no valid count"),
        ("engine:2 pu:1", "`engine` is not a valid type of a level"),
        ("l9:1 pu:1", "`l9` is not a valid type of a level"),
        ("package:2 package:2 pu:1", "two levels have the same type"),
        ("core:2 package:2 pu:1", "a package is inside a core"),
        ("numa:2 package:1 [numa] pu:1", "`numa` is a level and attached to another level, too"),
        ("package:1 [core] pu:1", "`core` is attached; only `numa` without a count can be"),
        ("package:1 [numa pu:1", "a `[` has no `]`"),
        ("l2:1(size=1MiB pu:1", "a `(` has no `)`"),
        ("l2:1(size=much) pu:1", "`size=much` is not supported"),
        ("core:1(colour=red) pu:1", "`colour=red` is not supported"),
        ("pu:4(indexes=0,1,2,2)", "`indexes` must be 4 different numbers"),
        ("package:60000 pu:60000", "there are more than 65536 CPUs"),
        (one, "it is a topology of hwloc 1; write it again with `lstopo --of xml` of hwloc 2"),
        ("<topology version=\"3.0\"/>", "it is a topology of version 3.0; only version 2 is supported"),
        ("<html/>", "the root element is `html`, not a `topology` of hwloc"),
        ("<topology version=\"2.0\"/>", "the description has no CPU"),
    ] {
        assert_eq!(hwloc::machine(text).unwrap_err().to_string(), why, "{text}");
    }
    let error = hwloc::machine("<topology").unwrap_err().to_string();
    assert!(error.starts_with("it is not XML: "), "{error}");
    let twice = HYBRID.replace("type=\"PU\" os_index=\"1\"", "type=\"PU\" os_index=\"0\"");
    assert_eq!(hwloc::xml(&twice).unwrap_err().to_string(), "two CPUs have the same number");
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = "<object type=\"Group\">".repeat(200_000);
    let closed = "</object>".repeat(200_000);
    let text = format!("<topology version=\"2.0\">{deep}{closed}</topology>");
    assert!(hwloc::xml(&text).is_err());
    assert!(hwloc::synthetic(&"[".repeat(100_000)).is_err());
    assert!(hwloc::synthetic(&"die:1 ".repeat(100_000)).is_err());
}

/// One level of a synthetic description, as a regular expression.
const LEVEL: &str = "(package|core|pu|numa|l[1-4][di]?|group|\\[numa\\]|2)(:[0-4])?\
    (\\((size|memory|indexes)=[0-9,]{1,5}(MiB|GB)?\\))?";

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}", xml in any::<bool>()) {
        let text = if xml { format!("<{text}") } else { text };
        if let Ok(facts) = hwloc::machine(&text) {
            coherent(&facts);
        }
    }

    #[test]
    fn any_levels_are_read_or_refused(levels in prop::collection::vec(LEVEL, 1..6)) {
        if let Ok(facts) = hwloc::machine(&levels.join(" ")) {
            coherent(&facts);
        }
    }

    /// Removes a part of a description, repeats it, or replaces it.
    #[test]
    fn damaged_xml_is_read_or_refused(
        from in 0..HYBRID.len(),
        length in 0..120_usize,
        to in 0..HYBRID.len(),
        by in "[0-9a-fx<>\"/ ]{0,8}",
    ) {
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
