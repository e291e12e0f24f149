//! Users as lines of a file: `user NAME RULE…`.

use super::registry::{RulesError, apply_all};
use super::{User, is_user_name};
use crate::snapshot::sync_names;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// Returns the line of a user.
pub(crate) fn show_line(name: &[u8], user: &User) -> Vec<u8> {
    [b"user ", name, b" ", &*user.describe()].concat()
}

/// Reads the users of a file. `has_all_channels` says what new users have.
///
/// # Errors
///
/// What is wrong with its lines, in Redis' words; `path` names the file.
pub(crate) fn parse_file(
    text: &[u8],
    path: &str,
    has_all_channels: bool,
) -> Result<BTreeMap<Vec<u8>, User>, String> {
    let (mut users, mut errors) = (BTreeMap::new(), String::new());
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if !line.is_empty()
            && let Err(error) = parse_line(line, &mut users, has_all_channels)
        {
            errors += &error.text(path, index + 1);
        }
    }
    if errors.is_empty() {
        return Ok(users);
    }
    Err(errors + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
}

/// What is wrong with a line.
enum LineError {
    NoUser,
    Name(Vec<u8>),
    Duplicate(Vec<u8>),
    Rules(RulesError),
}

impl LineError {
    fn text(&self, path: &str, line: usize) -> String {
        let shown = String::from_utf8_lossy;
        match self {
            Self::NoUser => {
                format!("{path}:{line} should start with user keyword followed by the username. ")
            }
            Self::Name(name) => {
                format!("'{path}:{line}: username '{}' contains invalid characters. ", shown(name))
            }
            Self::Duplicate(name) => {
                format!("WARNING: Duplicate user '{}' found on line {line}. ", shown(name))
            }
            Self::Rules(RulesError::Open(_)) => {
                format!("{path}:{line}: Unmatched parenthesis in selector definition.")
            }
            Self::Rules(RulesError::Rule { rule, why: why @ super::RuleError::UnknownCommand }) => {
                let why = why.text();
                format!("{path}:{line}: Error in applying operation '{}': {why}. ", shown(rule))
            }
            // The rule may have a password in it.
            Self::Rules(RulesError::Rule { why, .. }) => format!("{path}:{line}: {}. ", why.text()),
        }
    }
}

fn parse_line(
    line: &[u8],
    users: &mut BTreeMap<Vec<u8>, User>,
    has_all_channels: bool,
) -> Result<(), LineError> {
    let mut words = line.split(|byte| *byte == b' ');
    let name = words.next().filter(|word| *word == b"user").and_then(|_| words.next());
    let name = name.ok_or(LineError::NoUser)?;
    if !is_user_name(name) {
        return Err(LineError::Name(name.to_vec()));
    }
    if users.contains_key(name) {
        return Err(LineError::Duplicate(name.to_vec()));
    }
    let mut user = User::new(has_all_channels);
    let applied = apply_all(&mut user, words.map(<[u8]>::trim_ascii), has_all_channels);
    users.insert(name.to_vec(), user);
    applied.map_err(LineError::Rules)
}

/// Returns the text of a file with these users.
///
/// # Errors
///
/// If a user would not be the same when the file is read: a selector may have quotes in a pattern,
/// for example.
pub(super) fn file_text(users: &[(Arc<[u8]>, Arc<User>)]) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    for (name, user) in users {
        let line = show_line(name, user);
        let mut again = BTreeMap::new();
        let is_read = parse_line(&line, &mut again, false).is_ok();
        let shown = again.get(&**name).map(|user| show_line(name, user));
        if !is_read || shown.as_ref() != Some(&line) {
            let name = String::from_utf8_lossy(name);
            return Err(format!("the rules of user '{name}' cannot be written as a line of a file"));
        }
        text.extend_from_slice(&line);
        text.push(b'\n');
    }
    Ok(text)
}

/// Replaces a file: it is complete when it gets its name, durably. It is for its owner alone, or as
/// the one before, for it has hashes of passwords. Only one call at a time may replace a file.
///
/// # Errors
///
/// Of the system. Unless it concerns the name alone, the file is then as it was.
pub(super) fn save_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let name = format!("{}.tmp-{}", path.display(), std::process::id());
    let name = Path::new(&name);
    let renamed = write_new(name, path, text).and_then(|()| fs::rename(name, path));
    if renamed.is_err() {
        // It may not be there.
        _ = fs::remove_file(name);
    }
    renamed?;
    let folder = path.parent().filter(|folder| folder.components().next().is_some());
    sync_names(folder.unwrap_or(Path::new(".")))
}

/// Writes a file that is not there, for what may read `old`.
fn write_new(name: &Path, old: &Path, text: &[u8]) -> io::Result<()> {
    // One of a process that has ended may have other rights.
    _ = fs::remove_file(name);
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    let mut file = options.open(name)?;
    #[cfg(unix)]
    if let Ok(old) = fs::metadata(old) {
        file.set_permissions(old.permissions())?;
    }
    #[cfg(not(unix))]
    let _ = old;
    file.write_all(text)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<String>, String> {
        let users = parse_file(text.as_bytes(), "users.acl", false)?;
        Ok(users.iter().map(|(name, user)| String::from_utf8(show_line(name, user)).unwrap()).collect())
    }

    #[test]
    fn a_file_is_read_as_a_whole() {
        let text = "user bob on nopass (+get  ~a) -@all\r\n\n  user alice off +@all ~*\n";
        let lines = [
            "user alice off ~* resetchannels +@all",
            "user bob on nopass resetchannels -@all (~a resetchannels -@all +get)",
        ];
        assert_eq!(parsed(text).unwrap(), lines);
        assert_eq!(parsed(&lines.join("\n")).unwrap(), lines, "what is shown is read again");
        for (line, error) in [
            ("user", "users.acl:2 should start with user keyword followed by the username. "),
            ("# user x on", "users.acl:2 should start with user keyword followed by the username. "),
            ("user a on", "WARNING: Duplicate user 'a' found on line 2. "),
            ("user b\tc on", "'users.acl:2: username 'b\tc' contains invalid characters. "),
            ("user b (+get", "users.acl:2: Unmatched parenthesis in selector definition."),
            ("user b +x", "users.acl:2: Error in applying operation '+x': Unknown command or category name"),
            ("user b >secret x", "users.acl:2: Syntax error. WARNING"),
        ] {
            let errors = parsed(&format!("user a on\n{line}\n")).unwrap_err();
            assert!(errors.starts_with(error) && errors.contains("no change to the previously"), "{errors}");
        }
    }
}
