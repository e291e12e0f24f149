//! Prints the instructions that tasks on a tree take, counted by valgrind.
//!
//! `cargo run --release -p xtasking --example tree_costs [CASE STEPS]`
//!
//! The tree has ten by ten by ten directories, and ten files in each of the lowest. There is one
//! worker, and each task spawns the next: so a claim is made while another one is held. For each
//! case the program runs itself twice under callgrind, with different numbers of steps. The figure
//! is the difference of the instructions, divided by that of the steps. With a case and a number of
//! steps it runs these, and prints nothing: for `callgrind_annotate`.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use xtasking::trees::{Node, Nodes, Tree, TreeError, TreePlan};
use xtasking::{Context, Runtime};

/// Entries of each directory.
const WIDTH: usize = 10;
/// Levels below the root.
const DEPTH: u32 = 4;
/// Distance of files that follow each other.
const STRIDE: usize = 7919;
/// Files that tasks write: a power of two, as it costs least to stay below it.
const FILES: usize = 8192;
/// Nodes of each of two chains, which only one case has.
const CHAIN: u64 = 1000;
/// Steps of the shorter run; the longer one has twice as many.
const STEPS: usize = 20_000;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Empty,
    File,
    Directory,
    Root,
    TwoFiles,
    Path,
    Ends,
    Walk,
    WalkMut,
    Fold,
    Handles,
    HandlesMut,
}

use Case::{Directory, Empty, Ends, File, Fold, Handles, HandlesMut, Path, Root, TwoFiles, Walk, WalkMut};

const CASES: [(Case, &str, &str); 12] = [
    (Empty, "empty", "an empty task"),
    (File, "file", "a task that writes one file"),
    (Directory, "directory", "a task that reads a lowest directory, with its files"),
    (Root, "root", "a task that reads the root, with all below"),
    (TwoFiles, "two-files", "a task that writes two files"),
    (Path, "path", "a task that writes a file by its path: a plan looks at four directories"),
    (Ends, "ends", "a task that writes the ends of two chains of 1,000 nodes"),
    (Walk, "walk", "a node in a walk to read"),
    (WalkMut, "walk-mut", "a node in a walk to write"),
    (Fold, "fold", "a node in a walk to read, by `fold`"),
    (Handles, "handles", "a node by its handle to read, below one that was claimed"),
    (HandlesMut, "handles-mut", "a node by its handle to write, below one that was claimed"),
];

/// A tree with the handles of its nodes, level by level.
struct Files {
    tree: Tree<u64>,
    levels: Vec<Vec<Node>>,
    /// Files for the tasks, one after another. Neighbours are in different directories.
    files: Vec<Node>,
    /// Two leaves at the end of each chain.
    ends: [[Node; 2]; 2],
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = |name| CASES.iter().find(|case| case.1 == name);
    match &arguments[..] {
        [] => print_all(),
        [name, steps] if let (Some(case), Ok(steps)) = (named(name), steps.parse()) => run(case.0, steps),
        _ => {
            let names = CASES.map(|case| case.1).join(", ");
            eprintln!("usage: tree_costs [CASE STEPS], with one of the cases {names}");
            std::process::exit(2);
        }
    }
}

fn print_all() {
    if let Err(error) = Command::new("valgrind").arg("--version").output() {
        eprintln!(
            "valgrind, which counts the instructions, does not run ({error}): apt-get install valgrind"
        );
        std::process::exit(2);
    }
    for (case, name, about) in CASES {
        let (steps, parts) = match case {
            // A step of a walk visits all nodes.
            _ if is_walk(case) => (200, count_nodes()),
            Ends => (200, 1),
            _ => (STEPS, 1),
        };
        let [short, long] = [steps, 2 * steps].map(|steps| instructions(name, steps));
        let each = (long as f64 - short as f64) / (steps * parts) as f64;
        println!("{each:8.1}  {about}");
    }
}

fn is_walk(case: Case) -> bool {
    matches!(case, Walk | WalkMut | Fold | Handles | HandlesMut)
}

fn count_nodes() -> usize {
    (0..=DEPTH).map(|level| WIDTH.pow(level)).sum()
}

/// Runs a case under callgrind. Returns the number of instructions.
fn instructions(name: &str, steps: usize) -> u64 {
    let program = std::env::current_exe().expect("this program's path");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let output = valgrind.arg(program).arg(name).arg(steps.to_string()).output().expect("valgrind runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let collected = text.lines().find_map(|line| line.split_once("Collected :")).expect("a count");
    collected.1.trim().parse().expect("a number")
}

fn run(case: Case, steps: usize) {
    let rt = Runtime::builder().workers(1).build().expect("a runtime");
    let files = Arc::new(Files::new(&rt, if case == Ends { CHAIN } else { 0 }));
    let first = files.clone();
    if is_walk(case) {
        let (tree, root) = (&files.tree, files.tree.root());
        let claim = if matches!(case, WalkMut | HandlesMut) { tree.write(root) } else { tree.read(root) };
        let task = rt.task(()).claim(claim).submit_with(move |(), mut nodes, _| {
            (0..steps).map(|_| walk(&first, case, &mut nodes).expect("the claim covers the tree")).sum()
        });
        let sum: u64 = task.join().expect("no panic");
        assert_eq!(sum > 0, steps > 0);
    } else {
        let group = rt.group();
        rt.task(()).of(&group).spawn(move |(), cx| step(&first, case, steps, cx));
        group.wait().expect("no panic");
    }
}

impl Files {
    fn new(rt: &Runtime, chain: u64) -> Self {
        let tree = rt.tree(0);
        let root = tree.root();
        let build = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
            let mut levels = vec![vec![root]];
            for level in 1..=DEPTH {
                let mut below = Vec::new();
                for &parent in &levels[level as usize - 1] {
                    for name in 0..WIDTH {
                        below.push(nodes.insert(parent, name as u64)?);
                    }
                }
                levels.push(below);
            }
            let mut ends = [[root; 2]; 2];
            for name in 0..chain {
                for [one, two] in &mut ends {
                    let last = *one;
                    *one = nodes.insert(last, name)?;
                    *two = nodes.insert(last, name)?;
                }
            }
            Ok::<_, TreeError>((levels, ends))
        });
        let (levels, ends) = build.join().expect("no panic").expect("the claim covers the tree");
        // The tasks that split clusters are follow-ups: this one comes behind them.
        rt.task(()).claim(tree.write(root)).submit_with(|(), _, _| ()).join().expect("no panic");
        let below = &levels[DEPTH as usize];
        let files = (0..FILES).map(|at| below[at * STRIDE % below.len()]).collect();
        Self { tree, levels, files, ends }
    }

    /// Names a file by its path.
    fn find(&self, step: usize, plan: &mut TreePlan<'_, '_, u64>) -> Option<Node> {
        let number = step * STRIDE % FILES;
        let mut node = plan.root();
        for level in (0..DEPTH).rev() {
            let name = number / WIDTH.pow(level) % WIDTH;
            node = plan.children(node)?[name];
        }
        plan.write_alone(node);
        Some(node)
    }
}

/// Visits all nodes. Returns the sum of their numbers.
fn walk(files: &Files, case: Case, nodes: &mut Nodes<'_, u64>) -> Result<u64, TreeError> {
    let (root, mut sum) = (files.tree.root(), 0);
    let handles = || files.levels.iter().flatten();
    match case {
        Walk => {
            for (_, number) in nodes.subtree(root)? {
                sum += number;
            }
        }
        WalkMut => {
            for (_, number) in nodes.subtree_mut(root)? {
                *number += 1;
                sum += *number;
            }
        }
        Fold => sum = nodes.subtree(root)?.map(|(_, number)| number).sum(),
        Handles => {
            for &node in handles() {
                sum += nodes.get(node)?;
            }
        }
        _ => {
            for &node in handles() {
                *nodes.get_mut(node)? += 1;
                sum += 1;
            }
        }
    }
    Ok(sum)
}

/// Spawns the next task of a case.
fn step(files: &Arc<Files>, case: Case, left: usize, cx: &mut Context) {
    if left == 0 {
        return;
    }
    let (tree, next, first) = (&files.tree, files.clone(), files.files[left % FILES]);
    match case {
        Empty => cx.task(()).as_sibling().spawn(move |(), cx| step(&next, case, left - 1, cx)),
        File => {
            let claim = tree.write_alone(first);
            cx.task(()).as_sibling().claim(claim).spawn_with(move |(), mut nodes, cx| {
                *nodes.get_mut(first).expect("claimed") += 1;
                step(&next, case, left - 1, cx);
            });
        }
        Ends => {
            // One task does not wait for the next.
            let [one, other] = files.ends.map(|leaves| leaves[left % 2]);
            let claim = tree.write_alone(one).and_write_alone(other);
            cx.task(()).as_sibling().claim(claim).spawn_with(move |(), mut nodes, cx| {
                *nodes.get_mut(one).expect("claimed") += 1;
                step(&next, case, left - 1, cx);
            });
        }
        TwoFiles => {
            let second = files.files[(left + FILES / 2) % FILES];
            let claim = tree.write_alone(first).and_write_alone(second);
            cx.task(()).as_sibling().claim(claim).spawn_with(move |(), mut nodes, cx| {
                *nodes.get_mut(first).expect("claimed") += 1;
                *nodes.get_mut(second).expect("claimed") += 1;
                step(&next, case, left - 1, cx);
            });
        }
        Path => {
            let finder = files.clone();
            let claim = tree.planned(move |plan| finder.find(left, plan).expect("nothing is in the way"));
            cx.task(()).as_sibling().claim(claim).spawn_with(move |(), (node, mut nodes), cx| {
                *nodes.get_mut(node).expect("claimed") += 1;
                step(&next, case, left - 1, cx);
            });
        }
        _ => {
            let directories = &files.levels[DEPTH as usize - 1];
            let node =
                if case == Root { tree.root() } else { directories[left * STRIDE % directories.len()] };
            cx.task(()).as_sibling().claim(tree.read(node)).spawn_with(move |(), nodes, cx| {
                black_box(nodes.get(node).expect("claimed"));
                step(&next, case, left - 1, cx);
            });
        }
    }
}
