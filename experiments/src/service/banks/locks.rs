//! Banks of accounts in locks.

use super::{Account, Answer, Bank, Transfer, apply};
use parking_lot::Mutex;
use std::sync::Arc;

/// The number of shards; a power of two.
const SHARDS: usize = 64;

/// Accounts in shards, each in a mutex of parking_lot: the account of number `n` is in shard
/// `n % SHARDS`.
#[derive(Clone)]
pub(in crate::service) struct ShardedLocks {
    shards: Arc<[Mutex<Vec<Account>>]>,
    count: usize,
}

impl ShardedLocks {
    /// Creates accounts without money.
    pub fn new(count: usize) -> Self {
        let shard = |_| Mutex::new(vec![Account::default(); count.div_ceil(SHARDS)]);
        Self { shards: (0..SHARDS).map(shard).collect(), count }
    }

    fn place(number: u32) -> (usize, usize) {
        (number as usize % SHARDS, number as usize / SHARDS)
    }

    /// Carries a transfer out, with the locks of both shards in ascending order.
    fn transfer_now(&self, transfer: Transfer) -> Answer {
        let (from, to) = (Self::place(transfer.from), Self::place(transfer.to));
        if from.0 == to.0 {
            let mut shard = self.shards[from.0].lock();
            return match shard.get_disjoint_mut([from.1, to.1]) {
                Ok([from, to]) => apply(transfer, from, to),
                Err(_) => Answer::Failed,
            };
        }
        let mut first = self.shards[from.0.min(to.0)].lock();
        let mut second = self.shards[from.0.max(to.0)].lock();
        let (at_from, at_to) =
            if from.0 < to.0 { (&mut first, &mut second) } else { (&mut second, &mut first) };
        apply(transfer, &mut at_from[from.1], &mut at_to[to.1])
    }
}

impl Bank for ShardedLocks {
    async fn transfer(&self, transfer: Transfer) -> Answer {
        self.transfer_now(transfer)
    }

    async fn accounts(&self) -> Vec<Account> {
        let account = |number| {
            let (shard, at) = Self::place(number);
            self.shards[shard].lock()[at]
        };
        (0..self.count as u32).map(account).collect()
    }
}

/// Accounts each in a mutex of tokio, which are locked in ascending order.
#[derive(Clone)]
pub(in crate::service) struct AsyncLocks(Arc<[tokio::sync::Mutex<Account>]>);

impl AsyncLocks {
    /// Creates accounts without money.
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| tokio::sync::Mutex::default()).collect())
    }
}

impl Bank for AsyncLocks {
    async fn transfer(&self, transfer: Transfer) -> Answer {
        let Transfer { from, to, .. } = transfer;
        let mut first = self.0[from.min(to) as usize].lock().await;
        let mut second = self.0[from.max(to) as usize].lock().await;
        let (at_from, at_to) = if from < to { (&mut first, &mut second) } else { (&mut second, &mut first) };
        apply(transfer, at_from, at_to)
    }

    async fn accounts(&self) -> Vec<Account> {
        let mut accounts = Vec::new();
        for account in self.0.iter() {
            accounts.push(*account.lock().await);
        }
        accounts
    }
}
