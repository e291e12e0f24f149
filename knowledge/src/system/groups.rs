//! Which control groups the process is in, and where their files are.
//!
//! Version 1 has a tree of groups for each controller, version 2 one for all; a system may have both. `/proc/self/cgroup`
//! names the process's group in each tree, `/proc/self/mountinfo` says where the tree, or a part of it, can be seen.

use super::root::Survey;

/// The longest path that a system takes.
const LONGEST: usize = 4096;

/// More trees than there are controllers.
const MOST_TREES: usize = 64;

/// The groups of one tree that the process is in.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) version: Version,
    /// The folders of its group and of those that contain it, the innermost first.
    pub(super) folders: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Version {
    /// With files of its own for each controller.
    One,
    Two,
}

/// A place at which a tree of groups can be seen.
struct Mount {
    version: Version,
    /// The group that is at the top there.
    top: String,
    at: String,
    /// The controllers, among other things.
    options: String,
}

/// The lines of groups that `controller` limits the process by.
pub(super) fn lines(survey: &mut Survey<'_>, controller: &str) -> Vec<Line> {
    let about = format!("control group of {controller}");
    let Some(groups) = survey.needed(&about, "/proc/self/cgroup") else { return Vec::new() };
    let Some(mounts) = survey.needed(&about, "/proc/self/mountinfo") else { return Vec::new() };
    let mounts: Vec<_> = mounts.lines().filter_map(mount).collect();
    let mut lines = Vec::new();
    let mut hidden = false;
    for group in groups.lines().take(MOST_TREES) {
        // Number of the tree, controllers, path; version 2 names no controllers here.
        let mut parts = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let version = if controllers.is_empty() { Version::Two } else { Version::One };
        if version == Version::One && !listed(controllers, controller) {
            continue;
        }
        let fits = |mount: &&Mount| {
            mount.version == version && (version == Version::Two || listed(&mount.options, controller))
        };
        let fitting: Vec<_> = mounts.iter().filter(fits).collect();
        let inside = fitting.iter().find_map(|mount| Some((*mount, below(path, &mount.top)?)));
        let (mount, inner) = match (inside, fitting.first()) {
            (Some(found), _) => found,
            (None, Some(mount)) => {
                let why = "the process's group is outside of what is mounted: what is there counts";
                survey.gap(&about, why);
                (*mount, "")
            }
            // A tree of version 2 often exists beside those of version 1 without a controller.
            (None, None) => {
                hidden |= version == Version::One;
                continue;
            }
        };
        lines.push(Line { version, folders: folders(&mount.at, inner) });
    }
    if hidden || lines.is_empty() {
        survey.gap(about, "it is not mounted: whether there is a limit is not known");
    }
    lines
}

/// Reads a line such as `35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory`.
fn mount(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup" => Version::One,
        "cgroup2" => Version::Two,
        _ => return None,
    };
    let options = kind.nth(1)?.to_string();
    Some(Mount { version, top: unescaped(place.next()?), at: unescaped(place.next()?), options })
}

/// Spaces and the like are written there as a backslash and three octal digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[3..]);
            }
            None => bytes.extend([b"\\", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What leads from the group `top` to the group `path`, if that is below it.
fn below<'a>(path: &'a str, top: &str) -> Option<&'a str> {
    // A process outside of its name space's group is told so with dots.
    if path.len() > LONGEST || path.split('/').any(|part| part == "..") {
        return None;
    }
    let inner = path.strip_prefix(top.trim_end_matches('/'))?;
    (inner.is_empty() || inner.starts_with('/')).then(|| inner.trim_matches('/'))
}

/// The folder of the group, and those above it up to the mount.
fn folders(at: &str, inner: &str) -> Vec<String> {
    let at = at.trim_end_matches('/');
    let cuts = inner.match_indices('/').map(|(cut, _)| cut);
    let mut folders: Vec<_> = cuts.map(|cut| format!("{at}/{}", &inner[..cut])).collect();
    folders.insert(0, at.to_string());
    if !inner.is_empty() {
        folders.push(format!("{at}/{inner}"));
    }
    folders.reverse();
    folders
}

fn listed(list: &str, name: &str) -> bool {
    list.split(',').any(|part| part == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts() {
        let line = r"36 25 0:31 /a\040b /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct";
        let Mount { version, top, at, options } = mount(line).unwrap();
        assert_eq!(version, Version::One);
        assert_eq!((top.as_str(), at.as_str()), ("/a b", "/sys/fs/cgroup/cpu,cpuacct"));
        assert!(listed(&options, "cpu") && !listed(&options, "cpuset"));
        assert!(mount("25 1 254:0 / / rw,relatime - ext4 /dev/root rw").is_none());
        assert!(mount("nonsense - cgroup2").is_none());
        assert_eq!(unescaped(r"\134\9\1"), r"\\9\1");
    }

    #[test]
    fn groups_below_a_mount() {
        assert_eq!(below("/a/b", "/"), Some("a/b"));
        assert_eq!(below("/a/b", "/a"), Some("b"));
        assert_eq!(below("/a/b", "/a/b"), Some(""));
        assert_eq!(below("/ab", "/a"), None);
        assert_eq!(below("/../b", "/"), None);
        assert_eq!(folders("/m", "a/b"), ["/m/a/b", "/m/a", "/m"]);
        assert_eq!(folders("/", ""), [""]);
    }
}
