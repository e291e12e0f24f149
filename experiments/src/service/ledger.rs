//! The check of all answers and of the final accounts.

use super::transfer::{Account, Answer, Receipt, Transfer};
use std::collections::BTreeMap;
use xtasking_harness::failure::Wrong;

/// What the answers of one or several connections say of the accounts.
pub(super) struct Ledger {
    /// For each account, the balance after each change, by version.
    histories: Vec<BTreeMap<u64, Change>>,
    /// What transfers that failed would have taken from each account.
    failed: Vec<Vec<i64>>,
    pub counts: Counts,
}

/// One change of an account.
struct Change {
    amount: i64,
    balance: i64,
}

/// How many transfers had which answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub done: u64,
    pub failed: u64,
    pub disabled: u64,
    pub overloaded: u64,
}

impl Ledger {
    /// Returns a ledger without entries.
    pub fn new(accounts: usize) -> Self {
        let histories = (0..accounts).map(|_| BTreeMap::new()).collect();
        Self { histories, failed: vec![Vec::new(); accounts], counts: Counts::default() }
    }

    /// Enters an answer.
    ///
    /// # Errors
    ///
    /// If the transfer has not failed as it should, or an account was changed twice to the same
    /// version.
    pub fn enter(&mut self, transfer: Transfer, answer: Answer) -> Result<(), Wrong> {
        if transfer.fails && matches!(answer, Answer::Done(_)) {
            return Err(Wrong::new("a transfer that panics was reported as done"));
        }
        match answer {
            Answer::Done(Receipt { from, to }) => {
                self.counts.done += 1;
                self.change(transfer.from, -transfer.amount, from)?;
                self.change(transfer.to, transfer.amount, to)
            }
            Answer::Failed if !transfer.fails => Err(Wrong::new("a transfer without a panic has failed")),
            Answer::Failed => {
                self.counts.failed += 1;
                self.failed[transfer.from as usize].push(-transfer.amount);
                Ok(())
            }
            Answer::Disabled => {
                self.counts.disabled += 1;
                Ok(())
            }
            Answer::Overloaded => {
                self.counts.overloaded += 1;
                Ok(())
            }
        }
    }

    fn change(&mut self, account: u32, amount: i64, after: Account) -> Result<(), Wrong> {
        let Account { balance, version } = after;
        match self.histories[account as usize].insert(version, Change { amount, balance }) {
            None => Ok(()),
            Some(_) => Err(Wrong::new(format!("account {account} has reached version {version} twice"))),
        }
    }

    /// Adds another connection's ledger.
    ///
    /// # Errors
    ///
    /// If an account was changed twice to the same version.
    pub fn add(&mut self, other: Self) -> Result<(), Wrong> {
        for (account, history) in other.histories.into_iter().enumerate() {
            for (version, Change { amount, balance }) in history {
                self.change(account as u32, amount, Account { balance, version })?;
            }
        }
        self.failed.iter_mut().zip(other.failed).for_each(|(all, more)| all.extend(more));
        let (all, more) = (&mut self.counts, other.counts);
        all.done += more.done;
        all.failed += more.failed;
        all.disabled += more.disabled;
        all.overloaded += more.overloaded;
        Ok(())
    }

    /// Checks each account's history and its final state. Returns how many halves of failed
    /// transfers the accounts contain.
    ///
    /// # Errors
    ///
    /// If a change is lost, or a balance is not that of the version before and the amount.
    pub fn check(&self, accounts: &[Account]) -> Result<u64, Wrong> {
        if accounts.len() != self.histories.len() {
            return Err(Wrong::new(format!("there are {} accounts", accounts.len())));
        }
        let mut halves = 0;
        for (number, (history, last)) in self.histories.iter().zip(accounts).enumerate() {
            halves += self.check_account(number, history, *last)?;
        }
        Ok(halves)
    }

    fn check_account(
        &self,
        number: usize,
        history: &BTreeMap<u64, Change>,
        last: Account,
    ) -> Result<u64, Wrong> {
        let failed = &self.failed[number];
        let halves = last.version.saturating_sub(history.len() as u64);
        if last.version < history.len() as u64 || halves > failed.len() as u64 {
            let (changes, failures) = (history.len(), failed.len());
            return Err(Wrong::new(format!(
                "account {number} has version {} after {changes} changes and {failures} failed transfers",
                last.version
            )));
        }
        let mut before = Account::default();
        for (&version, &Change { amount, balance }) in history {
            if version == before.version + 1 && balance != before.balance + amount {
                return Err(Wrong::new(format!(
                    "account {number} has {balance} in version {version}, after {} and a change by {amount}",
                    before.balance
                )));
            }
            before = Account { balance, version };
        }
        let changes: i64 = history.values().map(|change| change.amount).sum();
        // Without halves the balance is exact; with all of them, too.
        let lost = last.balance - changes;
        let is_right = match halves {
            0 => lost == 0,
            _ if halves == failed.len() as u64 => lost == failed.iter().sum::<i64>(),
            _ => lost < 0,
        };
        if is_right {
            return Ok(halves);
        }
        Err(Wrong::new(format!("account {number} has {} after changes by {changes}", last.balance)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSFER: Transfer = Transfer { from: 0, to: 1, amount: 5, steps: 0, fails: false };

    fn account(balance: i64, version: u64) -> Account {
        Account { balance, version }
    }

    fn ledger(entries: &[(Transfer, Answer)]) -> Ledger {
        let mut ledger = Ledger::new(2);
        entries.iter().for_each(|&(transfer, answer)| ledger.enter(transfer, answer).unwrap());
        ledger
    }

    fn done(from: Account, to: Account) -> (Transfer, Answer) {
        (TRANSFER, Answer::Done(Receipt { from, to }))
    }

    #[test]
    fn a_lost_change_is_found() {
        let ledger = ledger(&[done(account(-5, 1), account(5, 1)), done(account(-10, 2), account(10, 2))]);
        assert_eq!(ledger.check(&[account(-10, 2), account(10, 2)]).unwrap(), 0);
        assert!(ledger.check(&[account(-5, 1), account(10, 2)]).is_err());
        assert!(ledger.check(&[account(-10, 2), account(5, 2)]).is_err());
        assert!(ledger.check(&[account(-10, 2)]).is_err());
    }

    #[test]
    fn a_version_that_is_reached_twice_is_found() {
        let mut one = ledger(&[done(account(-5, 1), account(5, 1))]);
        assert!(one.enter(TRANSFER, done(account(-5, 1), account(10, 2)).1).is_err());
        let other = ledger(&[done(account(-5, 2), account(5, 1))]);
        assert!(one.add(other).is_err());
    }

    #[test]
    fn a_wrong_balance_within_the_history_is_found() {
        let ledger = ledger(&[done(account(-5, 1), account(5, 1)), done(account(-9, 2), account(10, 2))]);
        assert!(ledger.check(&[account(-10, 2), account(10, 2)]).is_err());
    }

    #[test]
    fn halves_of_failed_transfers_are_counted() {
        let fails = Transfer { fails: true, ..TRANSFER };
        let ledger = ledger(&[(fails, Answer::Failed), (TRANSFER, Answer::Overloaded)]);
        assert_eq!(ledger.check(&[account(0, 0), account(0, 0)]).unwrap(), 0);
        assert_eq!(ledger.check(&[account(-5, 1), account(0, 0)]).unwrap(), 1);
        assert!(ledger.check(&[account(-6, 1), account(0, 0)]).is_err());
        assert!(ledger.check(&[account(0, 0), account(5, 1)]).is_err());
        let counts = Counts { failed: 1, overloaded: 1, ..Counts::default() };
        assert_eq!(ledger.counts, counts);
        assert!(Ledger::new(2).enter(TRANSFER, Answer::Failed).is_err());
        assert!(Ledger::new(2).enter(fails, done(account(-5, 1), account(5, 1)).1).is_err());
    }
}
