//! The users of the settings and of their file.

use super::{Server, Setting};
use crate::acl::{RuleError, RulesError, is_user_name, parse_file};
use crate::resp::words;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

impl Server {
    /// Returns the path of the file of users, if there is one.
    pub(crate) fn user_file(&self) -> Option<PathBuf> {
        let name = self.settings.text(Setting::AclFile);
        (!name.is_empty()).then(|| Path::new(&self.settings.text(Setting::Dir)).join(name))
    }

    /// Replaces all users by those of a file. If it names no default user, that one has the
    /// password of the setting `requirepass`.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or has wrong lines; then nothing has changed.
    pub(crate) fn load_users(&self, path: &Path) -> Result<(), String> {
        let shown = self.settings.text(Setting::AclFile);
        let failed = |error| format!("Error loading ACLs, opening file '{shown}': {error}");
        let text = fs::read(path).map_err(failed)?;
        let users = parse_file(&text, &shown, self.settings.allows_new_users_all_channels())?;
        self.acl.replace(users, || self.settings.text(Setting::RequirePass));
        Ok(())
    }

    /// Makes the users of lines: a name and rules each. Or loads those of the file.
    ///
    /// # Errors
    ///
    /// If a line is wrong, or there are both lines and a file.
    pub(crate) fn make_users(&self, lines: &[String]) -> Result<(), String> {
        let file = self.user_file();
        if let Some(path) = &file {
            if !lines.is_empty() {
                return Err("there are both lines `user` and an aclfile: choose one of them".to_owned());
            }
            return self.load_users(path);
        }
        let mut names = BTreeSet::new();
        for (index, line) in lines.iter().enumerate() {
            let failed = |why| format!("user, line {}: {why}", index + 1);
            let name = self.make_user(line).map_err(failed)?;
            let shown = String::from_utf8_lossy(&name);
            if names.contains(&name) {
                return Err(failed(format!("Duplicate user found: '{shown}' can only be defined once")));
            }
            names.insert(name);
        }
        Ok(())
    }

    fn make_user(&self, line: &str) -> Result<Vec<u8>, String> {
        let words = words(line.as_bytes()).ok_or("it has quotes that are not closed")?;
        let [name, rules @ ..] = &*words else { return Err("it has no name of a user".to_owned()) };
        let shown = String::from_utf8_lossy(name);
        if !is_user_name(name) {
            return Err(format!("the name '{shown}' of a user has spaces"));
        }
        // The default user begins as any other.
        let is_default = name == b"default";
        let rules = is_default.then_some(&b"reset"[..]).into_iter().chain(rules.iter().map(|rule| &**rule));
        let made = self.acl.set_user(name, rules, self.settings.allows_new_users_all_channels());
        match made {
            Ok(()) => Ok(name.clone()),
            Err(RulesError::Open(_)) => Err(format!("the user '{shown}' has a selector without an end")),
            // Only of these the rule has no password in it.
            Err(RulesError::Rule { rule, why: why @ RuleError::UnknownCommand }) => {
                let rule = String::from_utf8_lossy(&rule).into_owned();
                Err(format!("the user '{shown}' has the rule '{rule}': {}", why.text()))
            }
            Err(RulesError::Rule { why, .. }) => Err(format!("the user '{shown}': {}", why.text())),
        }
    }
}
