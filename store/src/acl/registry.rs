//! All users.

use super::file::{file_text, save_file};
use super::{Account, Denials, RuleError, User};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the user that new connections have.
const DEFAULT: &[u8] = b"default";

/// Accounts by name.
type Accounts = BTreeMap<Arc<[u8]>, Arc<Account>>;

/// All users, and the requests that were denied.
#[derive(Debug)]
pub(crate) struct Acl {
    accounts: Mutex<Accounts>,
    /// Also among the accounts. It is never removed.
    default: Arc<Account>,
    /// The password of the setting `requirepass` that was applied last. Locked before the accounts.
    password: Mutex<String>,
    /// Held while a file is written: files come one after the other, the last one with the users
    /// of the last request.
    saving: Mutex<()>,
    pub(crate) denials: Denials,
}

/// Why the rules of a user are not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RulesError {
    /// A rule is not.
    Rule {
        /// The rule.
        rule: Vec<u8>,
        /// Why.
        why: RuleError,
    },
    /// A selector that begins with this has no end.
    Open(Vec<u8>),
}

impl Default for Acl {
    fn default() -> Self {
        let default = Account::new(DEFAULT, User::default_user());
        let accounts = Mutex::new(BTreeMap::from([(default.name().clone(), default.clone())]));
        Self {
            accounts,
            default,
            password: Mutex::default(),
            saving: Mutex::default(),
            denials: Denials::default(),
        }
    }
}

/// Applies rules to a user.
pub(super) fn apply_all<R: AsRef<[u8]>>(
    user: &mut User,
    rules: impl IntoIterator<Item = R>,
    has_all_channels: bool,
) -> Result<(), RulesError> {
    for rule in joined(rules)? {
        user.apply(&rule, has_all_channels).map_err(|why| RulesError::Rule { rule, why })?;
    }
    Ok(())
}

/// Joins the words of selectors: what begins with a parenthesis goes up to the word that ends with
/// one.
fn joined<R: AsRef<[u8]>>(words: impl IntoIterator<Item = R>) -> Result<Vec<Vec<u8>>, RulesError> {
    let mut rules = Vec::new();
    let mut open: Option<(Vec<u8>, Vec<u8>)> = None;
    for word in words {
        let word = word.as_ref();
        match &mut open {
            Some((_, selector)) => {
                selector.push(b' ');
                selector.extend_from_slice(word);
            }
            None if word.starts_with(b"(") => open = Some((word.to_vec(), word.to_vec())),
            None => rules.push(word.to_vec()),
        }
        if word.ends_with(b")") {
            rules.extend(open.take().map(|(_, selector)| selector));
        }
    }
    open.map_or(Ok(rules), |(first, _)| Err(RulesError::Open(first)))
}

impl Acl {
    fn lock(&self) -> MutexGuard<'_, Accounts> {
        // Nothing panics inside.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the account that new connections have.
    pub(crate) fn default_account(&self) -> &Arc<Account> {
        &self.default
    }

    /// Returns true if new connections may run requests without a password.
    pub(crate) fn is_open(&self) -> bool {
        self.default.user().is_open()
    }

    /// Returns true if the default user takes any password.
    pub(crate) fn accepts_any_password(&self) -> bool {
        self.default.user().accepts_any_password()
    }

    fn lock_password(&self) -> MutexGuard<'_, String> {
        // Nothing panics inside.
        self.password.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the password of the default user to that of the setting `requirepass`. No password is
    /// set only if there was one before: otherwise the user may have got others since. The setting
    /// is read while no other call is under way: so an older text is never applied last.
    pub(crate) fn require_password(&self, setting: impl FnOnce() -> String) {
        let mut last = self.lock_password();
        let password = setting();
        if password.is_empty() && last.is_empty() {
            return;
        }
        let _accounts = self.lock();
        let mut user = User::clone(&self.default.user());
        user.set_only_password(&password);
        self.default.set(user);
        *last = password;
    }

    /// Finds the account for a name and a password, and passes it to `enter`. A user is removed
    /// before or after that: so those that have it then are known.
    pub(crate) fn authenticate<T>(
        &self,
        name: &[u8],
        password: &[u8],
        mut enter: impl FnMut(&Arc<Account>) -> T,
    ) -> Option<T> {
        loop {
            let account = self.lock().get(name)?.clone();
            let user = account.user();
            // Without the lock: clients choose how long the password is.
            if !user.accepts_password(password) {
                return None;
            }
            let entered = self.if_unchanged(&account, &user, &mut enter);
            if entered.is_some() {
                return entered;
            }
        }
    }

    /// Calls a function while no user is changed or removed; not if this one was since.
    fn if_unchanged<T>(
        &self,
        account: &Arc<Account>,
        user: &Arc<User>,
        enter: impl FnOnce(&Arc<Account>) -> T,
    ) -> Option<T> {
        let accounts = self.lock();
        let is_there = accounts.get(account.name()).is_some_and(|known| Arc::ptr_eq(known, account));
        (is_there && Arc::ptr_eq(&account.user(), user)).then(|| enter(account))
    }

    /// Finds a user.
    pub(crate) fn user(&self, name: &[u8]) -> Option<Arc<User>> {
        self.lock().get(name).map(|account| account.user())
    }

    /// Returns all users, by name.
    pub(crate) fn users(&self) -> Vec<(Arc<[u8]>, Arc<User>)> {
        self.lock().iter().map(|(name, account)| (name.clone(), account.user())).collect()
    }

    /// Writes all users to a file.
    ///
    /// # Errors
    ///
    /// Why they cannot be written.
    pub(crate) fn save(&self, path: &Path) -> Result<(), String> {
        // Nothing panics inside.
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let text = file_text(&self.users())?;
        save_file(path, &text).map_err(|error| error.to_string())
    }

    /// Changes a user, or makes it, by rules. `has_all_channels` says what a new one has.
    ///
    /// # Errors
    ///
    /// If a rule is not taken; then nothing has changed.
    pub(crate) fn set_user<R: AsRef<[u8]>>(
        &self,
        name: &[u8],
        rules: impl IntoIterator<Item = R>,
        has_all_channels: bool,
    ) -> Result<(), RulesError> {
        let mut accounts = self.lock();
        let account = accounts.get(name);
        let known = account.map(|account| User::clone(&account.user()));
        let mut user = known.unwrap_or_else(|| User::new(has_all_channels));
        apply_all(&mut user, rules, has_all_channels)?;
        match account {
            Some(account) => account.set(user),
            None => {
                let account = Account::new(name, user);
                accounts.insert(account.name().clone(), account);
            }
        }
        Ok(())
    }

    /// Removes a user, and all rights from the sessions that have it. Returns false if there is
    /// none of this name.
    pub(crate) fn remove(&self, name: &[u8]) -> bool {
        let removed = self.lock().remove(name);
        let has_it = removed.is_some();
        if let Some(account) = removed.filter(|_| !planted!("deleted-user-keeps-rights")) {
            account.set(User::new(false));
        }
        has_it
    }

    /// Replaces all users. Sessions of the default user keep it, with its new rights; those of
    /// others lose all rights. If no default user is among the new ones, it is as at the start: it
    /// has the password of the setting `requirepass`.
    pub(crate) fn replace(&self, mut users: BTreeMap<Vec<u8>, User>, setting: impl FnOnce() -> String) {
        let mut last = self.lock_password();
        let mut accounts = self.lock();
        let default = users.remove(DEFAULT).unwrap_or_else(|| {
            let mut user = User::default_user();
            *last = setting();
            user.set_only_password(&last);
            user
        });
        let others = users.into_iter().map(|(name, user)| Account::new(&name, user));
        let mut new: Accounts = others.map(|account| (account.name().clone(), account)).collect();
        new.insert(self.default.name().clone(), self.default.clone());
        self.default.set(default);
        for (name, account) in std::mem::replace(&mut *accounts, new) {
            if *name != *DEFAULT {
                account.set(User::new(false));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<&[u8]> {
        line.split(' ').map(str::as_bytes).collect()
    }

    fn described(acl: &Acl, name: &str) -> String {
        String::from_utf8(acl.user(name.as_bytes()).unwrap().describe()).unwrap()
    }

    #[test]
    fn users_are_shown_as_redis_does() {
        let acl = Acl::default();
        for (rules, shown) in [
            ("", "off resetchannels -@all"),
            ("on nopass ~a %R~b %W~b %r~c &d", "on nopass ~a ~b %R~c resetchannels &d -@all"),
            ("reset", "off sanitize-payload resetchannels -@all"),
            (
                "(+get ~x) ( %W~y +set )",
                "off sanitize-payload resetchannels -@all (~x resetchannels -@all \
              +get) (%W~y resetchannels -@all +set)",
            ),
            ("clearselectors allkeys allchannels +@all on", "on sanitize-payload ~* &* +@all"),
        ] {
            acl.set_user(b"u", words(rules), false).unwrap();
            assert_eq!(described(&acl, "u"), shown, "{rules}");
        }
        assert_eq!(described(&acl, "default"), "on nopass ~* &* +@all");
    }

    #[test]
    fn rules_are_taken_all_or_none() {
        let acl = Acl::default();
        let error = acl.set_user(b"u", words("on +get ~* ~x"), false);
        assert_eq!(error, Err(RulesError::Rule { rule: b"~x".to_vec(), why: RuleError::AllKeys }));
        assert!(acl.user(b"u").is_none());
        assert_eq!(acl.set_user(b"u", words("on (+get ~x"), false), Err(RulesError::Open(b"(+get".to_vec())));
        for rule in ["nothing", "%~a", "%X~a", "%RR~a", "%R", ")", "(&* &a)", " () ", "~a\tb", "&a\tb"] {
            let error = acl.set_user(b"u", [rule], false);
            assert!(matches!(error, Err(RulesError::Rule { .. })), "{rule}");
        }
    }

    #[test]
    fn a_user_that_was_changed_does_not_log_in_by_its_old_password() {
        let acl = Acl::default();
        acl.set_user(b"u", words("on >x"), false).unwrap();
        let found = || {
            let account = acl.lock().get(&b"u"[..]).unwrap().clone();
            let user = account.user();
            (account, user)
        };
        let (account, user) = found();
        assert_eq!(acl.if_unchanged(&account, &user, |account| account.name().to_vec()).unwrap(), b"u");
        acl.set_user(b"u", words("resetpass"), false).unwrap();
        assert!(acl.if_unchanged(&account, &user, |_| ()).is_none(), "the password has gone");
        let (account, user) = found();
        acl.remove(b"u");
        acl.set_user(b"u", words("on >y"), false).unwrap();
        assert!(acl.if_unchanged(&account, &user, |_| ()).is_none(), "it is another user");
        assert!(acl.authenticate(b"u", b"x", |_| ()).is_none());
        assert!(acl.authenticate(b"u", b"y", |_| ()).is_some());
    }

    #[test]
    fn the_setting_is_read_while_no_other_is_applied() {
        let acl = Acl::default();
        let setting = |acl: &Acl| {
            assert!(acl.password.try_lock().is_err(), "another text could be applied in between");
            "secret".to_owned()
        };
        acl.require_password(|| setting(&acl));
        assert!(!acl.is_open() && acl.authenticate(b"default", b"secret", |_| ()).is_some());
        acl.replace(BTreeMap::new(), || setting(&acl));
        assert!(!acl.is_open() && acl.authenticate(b"default", b"secret", |_| ()).is_some());
    }

    #[test]
    fn a_session_sees_new_rights() {
        let acl = Acl::default();
        acl.set_user(b"u", words("on nopass allkeys allchannels +@all"), false).unwrap();
        let mut login =
            acl.authenticate(b"u", b"", |account| crate::acl::Login::new(account.clone())).unwrap();
        assert!(login.has_all_rights());
        acl.set_user(b"u", words("-get"), false).unwrap();
        assert!(!login.has_all_rights());
        assert!(login.user().describe().ends_with(b"+@all -get"));
        assert!(acl.remove(b"u") && !acl.remove(b"u"));
        assert_eq!(login.user().describe(), b"off resetchannels -@all");
        assert!(acl.authenticate(b"u", b"", |_| ()).is_none());
    }
}
