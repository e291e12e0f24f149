//! The primitives, and which class may use which.

use super::class::{Class, Plain, Shared, Snapshot, Versioned};
use crate::annotation::Frequency;

/// How the runtime keeps an object's isolation (MxTasks, SIGMOD'21, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Primitive {
    /// The object's tasks run one after another in its home's run queue, without a lock.
    Sequencing = 0,
    /// A task holds a spin latch while its body runs.
    SpinLatch = 1,
    /// Readers enter together, a writer alone.
    ReaderWriterLatch = 2,
    /// Readers run anywhere, and repeat their read if a writer interfered. Writers run at home, one
    /// after another.
    OptimisticSequenced = 3,
    /// Readers as with `OptimisticSequenced`. Writers run anywhere, and latch the version.
    OptimisticLatched = 4,
}

impl Primitive {
    /// All primitives.
    pub const ALL: [Self; 5] = [
        Self::Sequencing,
        Self::SpinLatch,
        Self::ReaderWriterLatch,
        Self::OptimisticSequenced,
        Self::OptimisticLatched,
    ];

    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> Self {
        match bits {
            0 => Self::Sequencing,
            1 => Self::SpinLatch,
            2 => Self::ReaderWriterLatch,
            3 => Self::OptimisticSequenced,
            _ => Self::OptimisticLatched,
        }
    }

    /// Returns true if readers run beside writers.
    #[inline(always)]
    pub(crate) fn is_optimistic(self) -> bool {
        matches!(self, Self::OptimisticSequenced | Self::OptimisticLatched)
    }

    /// Returns true if tasks that exclude others (all tasks, or the writers) run at the object's
    /// home.
    #[inline(always)]
    pub(crate) fn is_sequenced(self) -> bool {
        matches!(self, Self::Sequencing | Self::OptimisticSequenced)
    }
}

/// A primitive that objects of class `C` may use. A combination without an implementation does not
/// compile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the primitive of an object of class `{C}`",
    label = "not a primitive of this class",
    note = "`Plain` objects take `Sequencing` and `SpinLatch`, `Shared` ones `ReaderWriterLatch` as well",
    note = "`Snapshot` objects take `OptimisticSequenced` and `OptimisticLatched`, `Versioned` ones any",
    note = "without `pin` the runtime chooses"
)]
pub trait LegalFor<C: Class>: sealed::Sealed {
    /// The primitive.
    const PRIMITIVE: Primitive;
}

macro_rules! primitives {
    ($($(#[$doc:meta])* $name:ident for $($class:ident),+;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        $(impl<T> LegalFor<$class<T>> for $name where $class<T>: Class {
            const PRIMITIVE: Primitive = Primitive::$name;
        })+
    )+};
}

primitives! {
    /// Pins [`Primitive::Sequencing`].
    Sequencing for Plain, Shared, Versioned;
    /// Pins [`Primitive::SpinLatch`].
    SpinLatch for Plain, Shared, Versioned;
    /// Pins [`Primitive::ReaderWriterLatch`].
    ReaderWriterLatch for Shared, Versioned;
    /// Pins [`Primitive::OptimisticSequenced`].
    OptimisticSequenced for Snapshot, Versioned;
    /// Pins [`Primitive::OptimisticLatched`].
    OptimisticLatched for Snapshot, Versioned;
}

/// Which tasks may access an object at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// One task, reading or writing.
    Exclusive,
    /// One writer or several readers.
    SharedReads,
    /// One writer, and readers that repeat their read if the writer interfered.
    OptimisticReads,
}

/// An isolation that objects of class `C` can have. A combination without an implementation does
/// not compile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no isolation of objects of class `{C}`",
    label = "not an isolation of this class",
    note = "`Plain` objects are `Exclusive`; `Shared` ones are `SharedReads` or `Exclusive`",
    note = "`Snapshot` and `Versioned` objects have `OptimisticReads` only",
    note = "without `isolation` an object has the one of its class"
)]
pub trait AllowsIsolation<C: Class>: sealed::Sealed {
    /// The isolation.
    const ISOLATION: Isolation;
}

macro_rules! isolations {
    ($($(#[$doc:meta])* $name:ident for $($class:ident),+;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        $(impl<T> AllowsIsolation<$class<T>> for $name where $class<T>: Class {
            const ISOLATION: Isolation = Isolation::$name;
        })+
    )+};
}

isolations! {
    /// Requests [`Isolation::Exclusive`].
    Exclusive for Plain, Shared;
    /// Requests [`Isolation::SharedReads`].
    SharedReads for Shared;
    /// Requests [`Isolation::OptimisticReads`].
    OptimisticReads for Snapshot, Versioned;
}

mod sealed {
    pub trait Sealed {}
}

/// What an object's builder knows when it chooses a primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expectation {
    pub isolation: Isolation,
    pub frequency: Frequency,
    /// Share of reading tasks, in percent.
    pub read_share: u8,
}

/// From this percentage of reads on, readers of a shared object should not wait for each other.
const MOSTLY_READ_PERCENT: u8 = 50;
/// From this percentage of reads on, writes to an optimistic object are so rare that its writers
/// need no home.
const RARELY_WRITTEN_PERCENT: u8 = 90;

/// Chooses as MxTasks does (section 4.3). A frequently used object gets a home, where nothing is
/// locked; a rarely contended one gets a latch. The more is read, the more parallel readers pay.
pub(crate) fn choose(expect: Expectation) -> Primitive {
    let Expectation { isolation, frequency, read_share } = expect;
    match isolation {
        Isolation::Exclusive if frequency == Frequency::Low => Primitive::SpinLatch,
        Isolation::Exclusive => Primitive::Sequencing,
        Isolation::SharedReads if read_share >= MOSTLY_READ_PERCENT => Primitive::ReaderWriterLatch,
        Isolation::SharedReads if frequency == Frequency::Low => Primitive::SpinLatch,
        Isolation::SharedReads => Primitive::Sequencing,
        Isolation::OptimisticReads if frequency == Frequency::High && read_share < RARELY_WRITTEN_PERCENT => {
            Primitive::OptimisticSequenced
        }
        Isolation::OptimisticReads => Primitive::OptimisticLatched,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_follows_the_annotation() {
        let choice =
            |isolation, frequency, read_share| choose(Expectation { isolation, frequency, read_share });
        use {Frequency::*, Isolation as I, Primitive as P};
        assert_eq!(choice(I::Exclusive, Normal, 50), P::Sequencing);
        assert_eq!(choice(I::Exclusive, Low, 50), P::SpinLatch);
        assert_eq!(choice(I::SharedReads, Normal, 80), P::ReaderWriterLatch);
        assert_eq!(choice(I::SharedReads, High, 10), P::Sequencing);
        assert_eq!(choice(I::OptimisticReads, Normal, 50), P::OptimisticLatched);
        assert_eq!(choice(I::OptimisticReads, High, 50), P::OptimisticSequenced);
        assert_eq!(choice(I::OptimisticReads, High, 95), P::OptimisticLatched);
    }
}
