//! How a core waits for what another one does.

use core::time::Duration;
use xkernel::bare;

/// Looks before the core halts between two of them.
const SPINS: u32 = 64;
/// How long it halts. The machine below a virtual one may have fewer cores, which others need.
const NAP: Duration = Duration::from_micros(50);

/// The looks of one wait.
#[derive(Default)]
pub(crate) struct Pause(u32);

impl Pause {
    /// Waits until the next look.
    pub fn wait(&mut self) {
        self.0 += 1;
        if self.0 < SPINS {
            core::hint::spin_loop();
        } else {
            // A wake-up for a worker of this core may end it, and is lost then. The worker does not
            // sleep while its task waits here, and looks at all that it has before it does.
            bare::park(Some(NAP));
        }
    }

    /// Waits until `is_over` returns true.
    pub fn until(mut is_over: impl FnMut() -> bool) {
        let mut pause = Self::default();
        while !is_over() {
            pause.wait();
        }
    }
}
