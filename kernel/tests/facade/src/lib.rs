//! The runtime as its tests name it, with cores in place of threads.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub use runtime::*;

/// The platforms, with cores in place of threads.
pub mod platform {
    pub use runtime::platform::*;

    use alloc::boxed::Box;
    use alloc::sync::Arc;
    use core::task::Waker;
    use once_cell::race::OnceRef;
    use xkernel::{Cores, Machine};

    static MACHINE: OnceRef<'static, Machine> = OnceRef::new();

    /// Sets the machine whose cores stand in for threads, also for runtimes that name no platform.
    ///
    /// # Panics
    ///
    /// Panics if it is called twice.
    pub fn set_machine(machine: &'static Machine) {
        let is_new = MACHINE.set(machine).is_ok();
        assert!(is_new && set_default(move || Arc::new(Cores::beside_program(machine))), "a second machine");
    }

    /// A number of the cores beside the program.
    pub struct Threads {
        cores: Cores,
        workers: usize,
    }

    impl Threads {
        /// Takes cores for up to `workers` workers.
        ///
        /// # Panics
        ///
        /// Panics if no machine was set.
        pub fn new(workers: usize) -> Self {
            Self { cores: Cores::beside_program(MACHINE.get().expect("a machine")), workers }
        }

        /// Does nothing: a worker is a core.
        #[must_use]
        pub fn unpinned(self) -> Self {
            self
        }

        /// Does nothing: each core has the same stack.
        #[must_use]
        pub fn stack_size(self, _: usize) -> Self {
            self
        }
    }

    impl Platform for Threads {
        fn topology(&self) -> CpuTopology {
            self.cores.topology()
        }

        fn start(&self, worker: Driver) -> Result<(), PlatformError> {
            if worker.worker() >= self.workers {
                return Err("the platform has room for fewer workers".into());
            }
            self.cores.start(worker)
        }

        fn stand_in(&self, worker: usize, body: Box<dyn FnOnce() + Send>) -> Result<(), PlatformError> {
            self.cores.stand_in(worker, body)
        }

        fn suspend(&self) {
            self.cores.suspend();
        }

        fn resume(&self, worker: usize, ready: &mut dyn FnMut(&Waker) -> bool) {
            self.cores.resume(worker, ready);
        }

        fn park(&self, worker: usize) {
            self.cores.park(worker);
        }

        fn park_until(&self, worker: usize, until: u64) {
            self.cores.park_until(worker, until);
        }

        fn wake(&self, worker: usize) {
            self.cores.wake(worker);
        }

        fn join(&self) {
            self.cores.join();
        }

        fn leave(&self) {
            self.cores.leave();
        }

        fn watch(
            &self,
            every: core::time::Duration,
            look: Box<dyn FnMut() -> bool + Send>,
        ) -> Result<(), PlatformError> {
            self.cores.watch(every, look)
        }

        fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
            self.cores.block(ready)
        }

        fn block_until(&self, until: u64, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<bool, WouldBlock> {
            self.cores.block_until(until, ready)
        }

        fn may_block(&self) -> bool {
            self.cores.may_block()
        }

        fn pages(&self) -> Arc<dyn PageSource> {
            self.cores.pages()
        }

        fn memory(&self) -> Option<u64> {
            self.cores.memory()
        }

        fn now(&self) -> u64 {
            self.cores.now()
        }

        fn has_steady_counter(&self) -> bool {
            self.cores.has_steady_counter()
        }

        fn spin_limit(&self) -> u32 {
            self.cores.spin_limit()
        }
    }
}
