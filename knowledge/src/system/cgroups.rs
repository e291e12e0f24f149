//! The control groups of the process, and the directories of their files.
//!
//! Version 1 has a hierarchy for each controller, version 2 has one for all, and a system may have
//! both. `/proc/self/cgroup` names the process's group in each hierarchy. `/proc/self/mountinfo`
//! says where a hierarchy, or a part of it, is mounted.

use super::survey::Survey;

/// The longest path on Linux.
const PATH_BYTES_MAX: usize = 4096;

/// There are fewer controllers.
const HIERARCHIES_MAX: usize = 64;

/// The groups of one hierarchy that contain the process.
#[derive(Debug, PartialEq)]
pub(super) struct GroupPath {
    pub(super) version: Version,
    /// The directories of its group and of the enclosing groups, innermost first.
    pub(super) folders: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Version {
    /// Each controller has its own files.
    V1,
    V2,
}

/// A mounted hierarchy.
struct Mount {
    version: Version,
    /// The group at the mount point.
    top: String,
    at: String,
    /// The mount options, which include the controllers.
    options: String,
}

/// Returns the groups through which `controller` limits the process.
pub(super) fn group_paths(survey: &mut Survey<'_>, controller: &str) -> Vec<GroupPath> {
    let about = format!("control group of {controller}");
    let Some(groups) = survey.required(&about, "/proc/self/cgroup") else { return Vec::new() };
    let Some(mounts) = survey.required(&about, "/proc/self/mountinfo") else { return Vec::new() };
    let mounts: Vec<_> = mounts.lines().filter_map(mount).collect();
    let mut lines = Vec::new();
    let mut hidden = false;
    for group in groups.lines().take(HIERARCHIES_MAX) {
        // Hierarchy number, controllers, path; version 2 names no controllers here.
        let mut parts = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let version = if controllers.is_empty() { Version::V2 } else { Version::V1 };
        if version == Version::V1 && !listed(controllers, controller) {
            continue;
        }
        let fits = |mount: &&Mount| {
            mount.version == version && (version == Version::V2 || listed(&mount.options, controller))
        };
        let fitting: Vec<_> = mounts.iter().filter(fits).collect();
        let inside = fitting.iter().find_map(|mount| Some((*mount, below(path, &mount.top)?)));
        let (mount, inner) = match (inside, fitting.first()) {
            (Some(found), _) => found,
            (None, Some(mount)) => {
                let why = "the group of the process is outside the mounted hierarchy; \
                           the limits of the mount point count";
                survey.gap(&about, why);
                (*mount, "")
            }
            // A version 2 hierarchy without controllers often exists beside version 1.
            (None, None) => {
                hidden |= version == Version::V1;
                continue;
            }
        };
        lines.push(GroupPath { version, folders: folders(&mount.at, inner) });
    }
    if hidden || lines.is_empty() {
        survey.gap(about, "the controller is not mounted; its limit is unknown");
    }
    lines
}

/// Parses a line such as `35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup
/// rw,memory`.
fn mount(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup" => Version::V1,
        "cgroup2" => Version::V2,
        _ => return None,
    };
    let options = kind.nth(1)?.to_string();
    Some(Mount { version, top: unescaped(place.next()?), at: unescaped(place.next()?), options })
}

/// Resolves escapes: a space, for example, is a backslash and three octal digits.
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

/// Returns the path from the group `top` down to the group `path`, if it is below.
fn below<'a>(path: &'a str, top: &str) -> Option<&'a str> {
    // A group outside the cgroup namespace of the process has `..` in its path.
    if path.len() > PATH_BYTES_MAX || path.split('/').any(|part| part == "..") {
        return None;
    }
    let inner = path.strip_prefix(top.trim_end_matches('/'))?;
    (inner.is_empty() || inner.starts_with('/')).then(|| inner.trim_matches('/'))
}

/// Returns the directories of the group and of the groups above it, up to the mount point.
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
    fn mounts_are_parsed() {
        let line = concat!(
            r"36 25 0:31 /a\040b /sys/fs/cgroup/cpu,cpuacct ",
            "rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct"
        );
        let Mount { version, top, at, options } = mount(line).unwrap();
        assert_eq!(version, Version::V1);
        assert_eq!((top.as_str(), at.as_str()), ("/a b", "/sys/fs/cgroup/cpu,cpuacct"));
        assert!(listed(&options, "cpu") && !listed(&options, "cpuset"));
        assert!(mount("25 1 254:0 / / rw,relatime - ext4 /dev/root rw").is_none());
        assert!(mount("nonsense - cgroup2").is_none());
        assert_eq!(unescaped(r"\134\9\1"), r"\\9\1");
    }

    #[test]
    fn paths_of_groups_below_a_mount() {
        assert_eq!(below("/a/b", "/"), Some("a/b"));
        assert_eq!(below("/a/b", "/a"), Some("b"));
        assert_eq!(below("/a/b", "/a/b"), Some(""));
        assert_eq!(below("/ab", "/a"), None);
        assert_eq!(below("/../b", "/"), None);
        assert_eq!(folders("/m", "a/b"), ["/m/a/b", "/m/a", "/m"]);
        assert_eq!(folders("/", ""), [""]);
    }
}
