//! Tests of what the operating system provides.

use super::*;

#[test]
fn lists_of_numbers_are_parsed() {
    assert_eq!(parse_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
    assert_eq!(parse_list(" 7 "), [7]);
    assert_eq!(parse_list("2 - 3 , 5"), [2, 3, 5]);
    assert_eq!(parse_list(""), []);
    assert_eq!(parse_list("\n"), []);
    assert_eq!(parse_list("x,1-,-4,2-y,9"), [9]);
    assert_eq!(parse_list("5-3,1"), [1]);
    assert_eq!(parse_list("0-99999999999,4"), [4]);
    assert_eq!(parse_list("0-99999999999999999999999,4"), [4]);
}

#[test]
fn the_topology_has_cores_and_nodes() {
    let topology = topology();
    assert!(!topology.cores.is_empty() && topology.nodes >= 1);
    assert!(topology.cores.iter().all(|core| usize::from(core.node) < topology.nodes));
    assert!((1..=topology.cores.len()).contains(&suggested_workers()));
}

#[test]
fn pages_of_every_kind_are_zeroed_and_aligned() {
    for (bytes, align) in [(1, 1), (4096, 4096), (100_000, 1 << 16), (5 << 20, 1 << 16), (2 << 20, 4 << 20)] {
        for node in [None, Some(0), Some(999)] {
            for huge in [false, true] {
                let pages = OsPages.pages(bytes, align, node, huge).unwrap();
                assert!(pages.bytes >= bytes && pages.ptr.addr().get().is_multiple_of(align));
                // SAFETY: the run was just allocated, and only this test has a pointer to it.
                unsafe {
                    let run = core::slice::from_raw_parts_mut(pages.ptr.as_ptr(), bytes);
                    assert!(run.iter().all(|byte| *byte == 0));
                    run.fill(1);
                    OsPages.release(pages);
                }
            }
        }
    }
    assert!(page_alloc(0, 64, None, true).is_none());
    assert!(page_alloc(64, 3, None, true).is_none());
    assert!(page_alloc(usize::MAX, 64, None, true).is_none());
    assert!(page_alloc(usize::MAX / 2, 64, None, true).is_none());
}

#[cfg(target_os = "linux")]
#[test]
fn the_smallest_limit_of_all_groups_counts() {
    let root = std::env::temp_dir().join(std::format!("xtasking-groups-{}", std::process::id()));
    // An earlier process of this number may have left files.
    _ = std::fs::remove_dir_all(&root);
    let write = |file: &str, text: &str| {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("outer/memory.max", "4096000\n");
    write("outer/inner/memory.max", "max\n");
    write("memory/old/memory.limit_in_bytes", "9223372036854771712\n");
    write("memory/memory.limit_in_bytes", "8192000\n");
    let group_limit = |groups| system::group_limit(&root, groups);
    assert_eq!(group_limit("0::/outer/inner\n"), Some(4_096_000));
    assert_eq!(group_limit("5:cpu,memory:/old\n1:name=systemd:/outer\n"), Some(8_192_000));
    assert_eq!(group_limit("5:memory:/old\n0::/outer/inner/unknown\n"), Some(4_096_000));
    assert_eq!([group_limit("0::/\n"), group_limit(""), group_limit("1:cpu:/outer\nnonsense")], [None; 3]);
    std::fs::remove_dir_all(&root).unwrap();
    assert!(memory().is_some_and(|bytes| bytes >= 1 << 20));
}

#[cfg(target_os = "linux")]
#[test]
fn a_pinned_thread_sees_one_core() {
    let core = topology().cores[0].os_id;
    std::thread::spawn(move || {
        assert!(pin_current_thread(core).is_ok());
        assert_eq!(topology().cores.iter().map(|core| core.os_id).collect::<Vec<_>>(), [core]);
        assert_eq!(suggested_workers(), 1);
        assert!(pin_current_thread(60_000).is_err() && pin_current_thread(usize::MAX).is_err());
    })
    .join()
    .unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn nodes_with_gaps_in_their_numbers_are_ordered() {
    let directory = std::env::temp_dir().join(format!("xtasking-nodes-{}", std::process::id()));
    // An earlier process of this number may have left files.
    _ = std::fs::remove_dir_all(&directory);
    for (node, list) in [("node10", "4-5\n"), ("node2", "0-1,3\n"), ("node7", "\n"), ("nodes", "9\n")] {
        std::fs::create_dir_all(directory.join(node)).unwrap();
        std::fs::write(directory.join(node).join("cpulist"), list).unwrap();
    }
    std::fs::create_dir_all(directory.join("node3")).unwrap();
    let found = system::read_nodes(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
    let node = |os_id, cpus: &[usize]| Node { os_id, cpus: cpus.into() };
    assert_eq!(found, [node(2, &[0, 1, 3]), node(7, &[]), node(10, &[4, 5])]);
    assert!(system::read_nodes(&directory).is_empty());
}
