//! Banks of accounts in objects of the runtime.
//!
//! An account is a snapshot: a transfer works on copies of both, which are published at its end. So
//! a transfer that panics leaves no trace.

use super::{Account, Answer, Bank, Transfer};
use bytemuck::{Pod, Zeroable};
use std::sync::Arc;
use xtasking::primitive::{OptimisticLatched, OptimisticSequenced};
use xtasking::{JoinError, Object, RuntimeHandle, Snapshot, task::LegalFor};

/// An account as plain data.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Record {
    balance: i64,
    version: u64,
}

impl From<Record> for Account {
    fn from(Record { balance, version }: Record) -> Self {
        Self { balance, version }
    }
}

impl From<Account> for Record {
    fn from(Account { balance, version }: Account) -> Self {
        Self { balance, version }
    }
}

/// The accounts, and the runtime that they belong to.
struct Accounts {
    rt: RuntimeHandle,
    objects: Vec<Object<Snapshot<Record>>>,
}

impl Accounts {
    fn new(rt: RuntimeHandle, count: usize, primitive: impl LegalFor<Snapshot<Record>> + Copy) -> Arc<Self> {
        let account = |_| rt.snapshot(Record { balance: 0, version: 0 }).pin(primitive).build();
        let objects = (0..count).map(account).collect();
        Arc::new(Self { rt, objects })
    }

    async fn all(&self) -> Vec<Account> {
        let all: Vec<_> = self.objects.iter().map(Object::read).collect();
        let copied = self
            .rt
            .task(all)
            .submit(|accounts, _cx| accounts.into_iter().map(|&account| account.into()).collect::<Vec<_>>());
        copied.await.unwrap_or_default()
    }
}

/// Carries a transfer out on copies of both accounts.
fn apply(transfer: Transfer, (from, to): (&mut Record, &mut Record)) -> Answer {
    let (mut source, mut target) = (Account::from(*from), Account::from(*to));
    let receipt = transfer.apply(&mut source, &mut target);
    (*from, *to) = (source.into(), target.into());
    Answer::Done(receipt)
}

/// Returns the answer of a transfer that was carried out or not.
fn answer(outcome: Result<Answer, JoinError>) -> Answer {
    match outcome {
        Ok(answer) => answer,
        Err(JoinError::Poisoned) => Answer::Disabled,
        Err(_) => Answer::Failed,
    }
}

/// Transfers that run on the thread of their handler, if the accounts are free.
#[derive(Clone)]
pub(in crate::service) struct Calls(Arc<Accounts>);

impl Calls {
    /// Creates accounts without money.
    pub fn new(rt: RuntimeHandle, count: usize) -> Self {
        Self(Accounts::new(rt, count, OptimisticLatched))
    }
}

impl Bank for Calls {
    async fn transfer(&self, transfer: Transfer) -> Answer {
        let [from, to] = [transfer.from, transfer.to].map(|number| &self.0.objects[number as usize]);
        let both = (from.write(), to.write());
        answer(self.0.rt.task(both).call(move |accounts| apply(transfer, accounts)).await)
    }

    async fn accounts(&self) -> Vec<Account> {
        self.0.all().await
    }
}

/// Transfers that are tasks on the runtime's workers. Those that the runtime has no room for are
/// refused.
#[derive(Clone)]
pub(in crate::service) struct Tasks(Arc<Accounts>);

impl Tasks {
    /// Creates accounts without money.
    pub fn new(rt: RuntimeHandle, count: usize) -> Self {
        Self(Accounts::new(rt, count, OptimisticSequenced))
    }
}

impl Bank for Tasks {
    async fn transfer(&self, transfer: Transfer) -> Answer {
        let [from, to] = [transfer.from, transfer.to].map(|number| &self.0.objects[number as usize]);
        let both = (from.write(), to.write());
        match self.0.rt.task(both).try_submit(move |accounts, _cx| apply(transfer, accounts)) {
            Ok(task) => answer(task.await),
            Err(_) => Answer::Overloaded,
        }
    }

    async fn accounts(&self) -> Vec<Account> {
        self.0.all().await
    }
}
