//! Requests and answers, as they pass through HTTP.

use std::fmt;
use std::str::FromStr;

/// A request: move an amount from one account to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub from: u32,
    pub to: u32,
    pub amount: i64,
    /// Steps of a computation in the midst of the transfer.
    pub steps: u64,
    /// Panics in the midst of the transfer, when the amount has left the first account.
    pub fails: bool,
}

/// An account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub balance: i64,
    /// How often it was changed.
    pub version: u64,
}

/// Both accounts after a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    pub from: Account,
    pub to: Account,
}

/// The status of an answer to a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done(Receipt),
    /// The transfer panicked.
    Failed,
    /// An account is disabled by an earlier panic.
    Disabled,
    /// The server has too much to do.
    Overloaded,
}

impl Account {
    /// Adds an amount, which may be negative.
    pub fn add(&mut self, amount: i64) {
        self.balance += amount;
        self.version += 1;
    }
}

impl Transfer {
    /// Returns the path of the request.
    pub fn path(&self) -> String {
        let Self { from, to, amount, steps, fails } = self;
        format!("/transfer/{from}/{to}/{amount}/{steps}/{}", u8::from(*fails))
    }

    /// Carries the transfer out on both accounts.
    ///
    /// # Panics
    ///
    /// If the transfer is one that fails.
    pub fn apply(&self, from: &mut Account, to: &mut Account) -> Receipt {
        from.add(-self.amount);
        std::hint::black_box(crate::piece::compute(self.steps));
        assert!(!self.fails, "provoked");
        to.add(self.amount);
        Receipt { from: *from, to: *to }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.balance, self.version)
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.from, self.to)
    }
}

/// Parses the next word of a text.
fn word<T: FromStr>(words: &mut std::str::SplitWhitespace<'_>) -> Option<T> {
    words.next()?.parse().ok()
}

impl Account {
    fn parse(words: &mut std::str::SplitWhitespace<'_>) -> Option<Self> {
        Some(Self { balance: word(words)?, version: word(words)? })
    }

    /// Parses the list of all accounts.
    pub fn parse_all(text: &str) -> Option<Vec<Self>> {
        text.lines().map(|line| Self::parse(&mut line.split_whitespace())).collect()
    }
}

impl Receipt {
    /// Parses the body of an answer.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let receipt = Self { from: Account::parse(&mut words)?, to: Account::parse(&mut words)? };
        words.next().is_none().then_some(receipt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_and_accounts_pass_through_text() {
        let [one, other] = [Account { balance: -7, version: 3 }, Account { balance: 9, version: 1 }];
        let receipt = Receipt { from: one, to: other };
        assert_eq!(Receipt::parse(&receipt.to_string()), Some(receipt));
        assert_eq!(Receipt::parse("1 2 3"), None);
        assert_eq!(Receipt::parse("1 2 3 4 5"), None);
        assert_eq!(Account::parse_all(&format!("{one}\n{other}\n")), Some(vec![one, other]));
        assert_eq!(Account::parse_all("1\n"), None);
    }

    #[test]
    fn a_transfer_moves_the_amount() {
        let transfer = Transfer { from: 0, to: 1, amount: 5, steps: 10, fails: false };
        let (mut from, mut to) = (Account::default(), Account::default());
        let receipt = transfer.apply(&mut from, &mut to);
        assert_eq!((receipt.from, receipt.to), (from, to));
        assert_eq!((from.balance, to.balance, from.version, to.version), (-5, 5, 1, 1));
        assert_eq!(transfer.path(), "/transfer/0/1/5/10/0");
    }
}
