//! Measures the style of the sources and the documentation, and fails beyond its bars. Run by
//! `.ci/style`.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Words for persons, where a thing is meant.
const PERSONS: &[&str] = &["who", "whoever", "whom", "nobody", "somebody", "himself", "he", "his"];
/// Such words in 10,000 words of comments and prose.
const MOST_PERSONS: f64 = 2.0;
/// Columns of a line of code, and of a comment.
const CODE_COLUMNS: usize = 110;
const COMMENT_COLUMNS: usize = 100;
/// Lines of a file, tests and data aside.
const MOST_LINES: usize = 400;
/// Public names at the root of the crate `xtasking`.
const MOST_ROOT_NAMES: usize = 35;
/// Files of a crate that import each other in a circle.
const LARGEST_CIRCLE: usize = 6;
/// Lines that are printed of each kind.
const PRINTED: usize = 12;

struct File {
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn is_test(&self) -> bool {
        let parts: Vec<_> = self.path.split('/').collect();
        parts.contains(&"tests") || parts.contains(&"model") || self.path.ends_with("/tests.rs")
    }

    /// The lines before the tests at the end of the file.
    fn shipped(&self) -> impl Iterator<Item = &str> {
        self.text.lines().take_while(|line| !line.starts_with("mod tests {"))
    }
}

/// Collects the files with an ending below a folder.
fn collect(folder: &Path, files: &mut Vec<File>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder that can be read")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let is_read = name == ".ci" || !name.starts_with('.');
            if is_read && name != "target" && name != "corpus" {
                collect(&path, files);
            }
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            let text = fs::read_to_string(&path).expect("a file that can be read");
            files.push(File { path: path.to_string_lossy().trim_start_matches("./").to_owned(), text });
        }
    }
}

/// The comment in a line of Rust, without its slashes.
fn comment(line: &str) -> Option<&str> {
    let start = line.trim_start();
    if let Some(rest) = start.strip_prefix("//") {
        return Some(rest.trim_start_matches(['/', '!']));
    }
    line.split_once(" // ").map(|(_, rest)| rest)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Counts one kind of offence, and says whether there are too many.
fn report(what: &str, offences: &[String], is_wrong: bool) -> bool {
    println!("{} {what}", if is_wrong { "WRONG" } else { "ok   " });
    for offence in offences.iter().take(PRINTED) {
        println!("        {offence}");
    }
    if offences.len() > PRINTED {
        println!("        and {} more", offences.len() - PRINTED);
    }
    is_wrong
}

fn persons(files: &[File]) -> bool {
    let (mut all, mut found) = (0, 0);
    let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        for line in file.text.lines() {
            let text = if file.is_rust() { comment(line) } else { Some(line) };
            for word in words(text.unwrap_or_default()) {
                all += 1;
                if PERSONS.contains(&&*word) {
                    found += 1;
                    *by_file.entry(&file.path).or_default() += 1;
                }
            }
        }
    }
    let rate = 10_000.0 * f64::from(found) / f64::from(all.max(1));
    let mut worst: Vec<_> = by_file.into_iter().collect();
    worst.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let worst: Vec<_> = worst.iter().map(|(path, count)| format!("{count:4} {path}")).collect();
    let what =
        format!("{rate:.1} words for persons in 10,000 words of comments and prose; {MOST_PERSONS} may be");
    let is_wrong = rate > MOST_PERSONS;
    report(&what, if is_wrong { &worst } else { &[] }, is_wrong)
}

fn columns(files: &[File]) -> bool {
    let mut long = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for (number, line) in file.text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            let most = if is_comment { COMMENT_COLUMNS } else { CODE_COLUMNS };
            if line.chars().count() > most {
                long.push(format!("{}:{}", file.path, number + 1));
            }
        }
    }
    let what = format!(
        "{} lines of code over {CODE_COLUMNS} columns or of comments over {COMMENT_COLUMNS}",
        long.len()
    );
    report(&what, &long, !long.is_empty())
}

fn lines(files: &[File]) -> bool {
    let mut long: Vec<_> = files
        .iter()
        .filter(|file| file.is_rust() && !file.is_test())
        .map(|file| (file.shipped().count(), &file.path))
        .filter(|&(lines, _)| lines > MOST_LINES)
        .collect();
    long.sort_by_key(|&(lines, _)| std::cmp::Reverse(lines));
    let long: Vec<_> = long.iter().map(|(lines, path)| format!("{lines} {path}")).collect();
    report(
        &format!("{} files of more than {MOST_LINES} lines, tests aside", long.len()),
        &long,
        !long.is_empty(),
    )
}

/// The sources of each crate's library, by the crate's folder.
fn crates(files: &[File]) -> BTreeMap<String, Vec<&File>> {
    let mut crates: BTreeMap<String, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust() && !file.is_test()) {
        if let Some((name, _)) = file.path.split_once("/src/") {
            crates.entry(name.to_owned()).or_default().push(file);
        }
    }
    crates
}

/// The name of a public type that a line begins to define.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "union ", "trait ", "unsafe trait ", "type "];
    let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

fn names(files: &[File]) -> bool {
    let mut twice = Vec::new();
    for (name, sources) in crates(files) {
        let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for file in sources {
            for defined in file.shipped().filter_map(public_type) {
                places.entry(defined).or_default().push(&file.path);
            }
        }
        let found = places.into_iter().filter(|(_, places)| places.len() > 1);
        twice.extend(found.map(|(defined, places)| format!("{name}: {defined} in {}", places.join(", "))));
    }
    report(&format!("{} names of several public types of one crate", twice.len()), &twice, !twice.is_empty())
}

fn root_names(files: &[File]) -> bool {
    let Some(root) = files.iter().find(|file| file.path == "runtime/src/lib.rs") else {
        return report("there is no runtime/src/lib.rs", &[], true);
    };
    // What stands in a module of its own is not at the root.
    let mut is_inside = false;
    let code = root.shipped().filter(|line| comment(line).is_none()).filter(|line| {
        is_inside |= line.starts_with("pub mod ") && line.ends_with('{');
        let was_inside = is_inside;
        is_inside &= *line != "}";
        !was_inside
    });
    let code: String = code.collect::<Vec<_>>().join(" ");
    let mut names = BTreeSet::new();
    for used in code.split("pub use ").skip(1) {
        let used = used.split(';').next().unwrap_or_default();
        let list =
            used.split_once('{').map_or(used.rsplit("::").next().unwrap_or_default(), |(_, list)| list);
        for name in list.split([',', '{', '}']).map(str::trim).filter(|name| !name.is_empty()) {
            let name = name.rsplit(" as ").next().unwrap_or(name);
            names.insert(name.rsplit("::").next().unwrap_or(name).to_owned());
        }
    }
    names.extend(root.shipped().filter_map(public_type).map(str::to_owned));
    let is_wrong = names.len() > MOST_ROOT_NAMES;
    let what = format!("{} names at the root of xtasking; {MOST_ROOT_NAMES} may be", names.len());
    let list = [names.into_iter().collect::<Vec<_>>().join(" ")];
    report(&what, if is_wrong { &list } else { &[] }, is_wrong)
}

/// The path of the module that a file is.
fn module(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, rest)| rest).trim_end_matches(".rs");
    let mut parts: Vec<_> = inside.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// All paths of a tree of imports, such as `a::{b, c::{d, e}}`.
fn paths(tree: &str, before: &[String], found: &mut Vec<Vec<String>>) {
    let (mut depth, mut start) = (0, 0);
    let mut branches = Vec::new();
    for (at, letter) in tree.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                branches.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    branches.push(&tree[start..]);
    for branch in branches.into_iter().map(str::trim).filter(|branch| !branch.is_empty()) {
        let (head, rest) = branch.split_once('{').map_or((branch, None), |(head, rest)| (head, Some(rest)));
        let head = head.split(" as ").next().unwrap_or(head);
        let mut path = before.to_vec();
        path.extend(head.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned));
        match rest {
            Some(rest) => paths(rest.trim_end().trim_end_matches('}'), &path, found),
            None => found.push(path),
        }
    }
}

/// The files that each file of a crate imports from.
fn imports(sources: &[&File]) -> Vec<BTreeSet<usize>> {
    let at: BTreeMap<_, _> = sources.iter().enumerate().map(|(at, file)| (module(&file.path), at)).collect();
    let edges = |(from, file): (usize, &&File)| {
        let own = module(&file.path);
        let code: Vec<_> = file.shipped().filter(|line| comment(line).is_none()).collect();
        let code = code.join(" ");
        let mut found = Vec::new();
        let pieces: Vec<_> = code.split("use ").collect();
        for pair in pieces.windows(2) {
            let mut tree = Vec::new();
            paths(pair[1].split(';').next().unwrap_or_default(), &[], &mut tree);
            // A file that re-exports what its own modules have does not depend on that.
            let is_public = pair[0].ends_with("pub ") || pair[0].trim_end().ends_with(')');
            for mut path in tree {
                let child = own.iter().chain(path.first()).cloned().collect::<Vec<_>>();
                if at.contains_key(&child) && !is_public {
                    path.insert(0, "self".to_owned());
                }
                found.push(path);
            }
        }
        let mut edges = BTreeSet::new();
        for path in found {
            let mut whole = match path.first().map(String::as_str) {
                Some("crate") => Vec::new(),
                Some("super" | "self") => own.clone(),
                _ => continue,
            };
            for part in path {
                match &*part {
                    "crate" | "self" => {}
                    "super" => drop(whole.pop()),
                    _ => whole.push(part),
                }
            }
            // The longest part of the path that is a file.
            while !at.contains_key(&whole) && whole.pop().is_some() {}
            edges.extend(at.get(&whole).copied().filter(|&to| to != from));
        }
        edges
    };
    sources.iter().enumerate().map(edges).collect()
}

/// The files that are reached from one of them.
fn reached(from: usize, edges: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(edges[file].iter().copied().filter(|&to| seen.insert(to)));
    }
    seen
}

fn circles(files: &[File]) -> bool {
    let mut large = Vec::new();
    for (name, sources) in crates(files) {
        let edges = imports(&sources);
        let reached: Vec<_> = (0..sources.len()).map(|from| reached(from, &edges)).collect();
        let mut seen = BTreeSet::new();
        for from in 0..sources.len() {
            let circle: BTreeSet<_> =
                reached[from].iter().copied().filter(|&to| reached[to].contains(&from)).collect();
            if circle.len() > LARGEST_CIRCLE && seen.insert(circle.clone()) {
                let paths: Vec<_> = circle.iter().map(|&file| &*sources[file].path).collect();
                large.push(format!("{name}, {} files: {}", circle.len(), paths.join(" ")));
            }
        }
    }
    let what = format!("{} circles of more than {LARGEST_CIRCLE} files that import each other", large.len());
    report(&what, &large, !large.is_empty())
}

fn main() -> ExitCode {
    let mut files = Vec::new();
    collect(Path::new("."), &mut files);
    let checks = [persons, columns, lines, names, root_names, circles];
    if checks.map(|check| check(&files)).contains(&true) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
