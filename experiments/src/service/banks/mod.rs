//! The contenders: how a server keeps its accounts.
//!
//! All are called by handlers of axum, on the threads of tokio. A transfer locks or claims both of
//! its accounts, and may panic.

mod locks;
mod objects;

pub(super) use locks::{AsyncLocks, ShardedLocks};
pub(super) use objects::{Calls, Tasks};

use super::transfer::{Account, Answer, Receipt, Transfer};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A bank of numbered accounts.
pub(super) trait Bank: Clone + Send + Sync + 'static {
    /// Carries a transfer out.
    fn transfer(&self, transfer: Transfer) -> impl Future<Output = Answer> + Send;
    /// Returns all accounts, while no transfer is under way.
    fn accounts(&self) -> impl Future<Output = Vec<Account>> + Send;
}

/// Carries a transfer out on two accounts that the caller has locked. The locks survive a panic, as
/// those of parking_lot and tokio do: the transfer may be left half-done.
fn apply(transfer: Transfer, from: &mut Account, to: &mut Account) -> Answer {
    let outcome: Result<Receipt, _> = catch_unwind(AssertUnwindSafe(|| transfer.apply(from, to)));
    outcome.map_or(Answer::Failed, Answer::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_testing::silence_tasks;

    /// Runs transfers at the same time, some of which fail, and checks what is left.
    async fn check<B: Bank>(bank: B, keeps_halves: bool) {
        let transfer = |number: u32| Transfer {
            from: number % 5,
            to: (number + 1 + number / 5 % 4) % 5,
            amount: 1,
            steps: 10,
            fails: number.is_multiple_of(10),
        };
        let tasks = (0..500).map(|number| {
            let bank = bank.clone();
            tokio::spawn(async move { bank.transfer(transfer(number)).await })
        });
        let (mut done, mut failed) = (0, 0);
        for task in tasks.collect::<Vec<_>>() {
            match task.await.unwrap() {
                Answer::Done(_) => done += 1,
                Answer::Failed => failed += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((done, failed), (450, 50));
        let accounts = bank.accounts().await;
        let sum: i64 = accounts.iter().map(|account| account.balance).sum();
        let changes: u64 = accounts.iter().map(|account| account.version).sum();
        assert_eq!((sum, changes), if keeps_halves { (-50, 950) } else { (0, 900) });
    }

    #[test]
    fn every_bank_moves_each_amount_once() {
        silence_tasks();
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let rt = xtasking::Runtime::builder().workers(2).build().unwrap();
        tokio.block_on(async {
            check(ShardedLocks::new(5), true).await;
            check(AsyncLocks::new(5), true).await;
            check(Calls::new(rt.handle(), 5), false).await;
            check(Tasks::new(rt.handle(), 5), false).await;
        });
    }
}
