//! Only the runtime implements its own traits, and only it calls their hidden methods.
//!
//! refused class: error[E0277]: the trait bound `Mine: xtasking::object::class::sealed::Sealed` is
//!     not satisfied
//! refused primitive: error[E0277]: the trait bound `Mine:
//!     xtasking::object::primitive::sealed::Sealed` is not satisfied
//! refused isolation: error[E0277]: the trait bound `Mine:
//!     xtasking::object::primitive::sealed::Sealed` is not satisfied
//! refused access: error[E0277]: the trait bound `Mine: xtasking::task::grant::sealed::Sealed` is
//!     not satisfied
//! refused spawner: error[E0599]: the method `task` exists for struct `Mine`, but its trait bounds
//!     were not satisfied
//! refused forged_tasks: error[E0133]: call to unsafe function
//!     `xtasking::task::spawner::sealed::Origin::enlist` is unsafe
//! refused task_counted: error[E0277]: the trait bound `xtasking::task::options::Options: Default`
//!     is not satisfied
//! refused task_inline: error[E0277]: the trait bound `xtasking::task::options::Options: Default`
//!     is not satisfied
//! refused block_taken: error[E0277]: the trait bound `xtasking::memory::chunk::SizeClass: Default`
//!     is not satisfied
//! refused sealed_module: error[E0603]: module `builder` is private

use std::ptr::NonNull;
use xtasking::{Isolation, Plain, Primitive, Runtime, task::Spawner};

struct Mine;

#[cfg(refused = "class")]
impl xtasking::primitive::Class for Mine {
    type Target = u64;
    const ISOLATION: Isolation = Isolation::Exclusive;
    fn new(_: u64) -> Self {
        Self
    }
}

#[cfg(refused = "primitive")]
impl xtasking::task::LegalFor<Plain<u64>> for Mine {
    const PRIMITIVE: Primitive = Primitive::OptimisticLatched;
}

#[cfg(refused = "isolation")]
impl xtasking::task::AllowsIsolation<Plain<u64>> for Mine {
    const ISOLATION: Isolation = Isolation::OptimisticReads;
}

#[cfg(refused = "access")]
impl xtasking::task::Access for Mine {
    type Grant = <xtasking::task::Write<'static, Plain<u64>> as xtasking::task::Access>::Grant;
}

#[cfg(refused = "spawner")]
fn spawn_from(mine: Mine) {
    mine.task(()).spawn(|(), _cx| {});
}

/// Sealed or not: a bound by a trait gives access to the methods of those above it.
fn forge(mut spawner: impl Spawner) {
    let pointer = NonNull::dangling();
    #[cfg(refused = "forged_tasks")]
    spawner.enlist(&mut [(0, pointer)]);
    // SAFETY: this is compiled, but never run.
    unsafe { spawner.enlist(&mut [(0, pointer)]) };
    // A task that is counted and never sent would keep a shutdown waiting for ever.
    #[cfg(refused = "task_counted")]
    spawner.admit(&Default::default());
    #[cfg(refused = "task_inline")]
    spawner.inline_context(&Default::default());
    #[cfg(refused = "block_taken")]
    spawner.allocate(Default::default());
}

#[cfg(refused = "sealed_module")]
use xtasking::task::builder as _;

fn main() {
    let rt = Runtime::new().unwrap();
    drop((Isolation::Exclusive, Primitive::SpinLatch, rt.plain(Mine).build()));
    let _: fn(&Runtime) = |runtime| forge(runtime);
}
