//! Test platforms that change a few methods of another platform.

/// Implements the named methods of [`Platform`](xtasking::platform::Platform) by calls of the same
/// methods of a field.
///
/// ```
/// use xtasking::platform::{Platform, Simulation};
///
/// struct Still(Simulation);
///
/// impl Platform for Still {
///     xtasking_testing::forward_platform! {
///         0: topology start park wake join block pages virtual_time
///     }
///
///     fn now(&self) -> u64 {
///         0
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_platform {
    (@topology $below:tt) => {
        fn topology(&self) -> ::xtasking::platform::CpuTopology {
            self.$below.topology()
        }
    };
    (@start $below:tt) => {
        fn start(
            &self,
            worker: ::xtasking::platform::Driver,
        ) -> ::core::result::Result<(), ::xtasking::platform::PlatformError> {
            self.$below.start(worker)
        }
    };
    (@park $below:tt) => {
        fn park(&self, worker: usize) {
            self.$below.park(worker);
        }
    };
    (@wake $below:tt) => {
        fn wake(&self, worker: usize) {
            self.$below.wake(worker);
        }
    };
    (@join $below:tt) => {
        fn join(&self) {
            self.$below.join();
        }
    };
    (@watch $below:tt) => {
        fn watch(
            &self,
            every: ::core::time::Duration,
            look: ::std::boxed::Box<dyn ::core::ops::FnMut() -> bool + ::core::marker::Send>,
        ) -> ::core::result::Result<(), ::xtasking::platform::PlatformError> {
            self.$below.watch(every, look)
        }
    };
    (@block $below:tt) => {
        fn block(
            &self,
            ready: &mut dyn ::core::ops::FnMut(&::core::task::Waker) -> bool,
        ) -> ::core::result::Result<(), ::xtasking::platform::WouldBlock> {
            self.$below.block(ready)
        }
    };
    (@pages $below:tt) => {
        fn pages(&self) -> ::std::sync::Arc<dyn ::xtasking::platform::PageSource> {
            self.$below.pages()
        }
    };
    (@now $below:tt) => {
        fn now(&self) -> u64 {
            self.$below.now()
        }
    };
    (@virtual_time $below:tt) => {
        fn virtual_time(&self) -> ::core::option::Option<&dyn ::xtasking::platform::VirtualTime> {
            self.$below.virtual_time()
        }
    };
    ($below:tt: $($method:ident)+) => {
        $($crate::forward_platform!(@$method $below);)+
    };
}
