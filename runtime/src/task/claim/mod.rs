//! Granules: parts of something large that tasks claim by ranges.
//!
//! What is too large for one object, and too finely divided for an object each, is cut into *granules*. A task claims ranges of
//! them, to read or to write, and runs when it has all of them: readers beside each other, writers alone, in the order in which
//! they came. Nobody blocks meanwhile, and nobody waits in a circle. (Two-phase enqueue as in behaviour-oriented concurrency,
//! Cheeseman et al., OOPSLA 2023; readers that share, in one line with writers.)
//!
//! | file | what it holds |
//! |---|---|
//! | `granules` | the granules and their data, and who owns them |
//! | `ask` | what a task claims: ranges that are named at once, or by a plan that looks at what is there |
//! | `rights` | which granules a task has, or is to have |
//! | `line` | who has a granule, and who stands in line for it |
//! | `stand` | a task that stands in the lines of all that it has claimed |
//! | `grant` | what becomes of tasks when granules are taken and given back |
//! | `late` | tasks that claim when a worker gets to them |
//! | `owner` | who keeps a stand, and in what memory |
//! | `spawner` | how a task gets there, and what it does when it is over |
//! | `directory` | where things are, to be looked up before anything is claimed |
//! | `held` | what a task that has its granules sees of their data |
//! | `control`, `pool`, `toggle` | other ways to keep tasks apart, for comparison |
//! | `homes` | the workers where granules are at home |
//! | `watch` | in debug builds: sees that nobody is at a granule who must not be |

mod ask;
mod control;
mod directory;
mod grant;
mod granules;
mod held;
mod homes;
mod late;
mod line;
mod owner;
mod pool;
mod rights;
mod spawner;
mod stand;
mod toggle;
#[cfg(debug_assertions)]
mod watch;

pub use ask::{Claim, Sight};
pub use control::Control;
pub use directory::Directory;
pub use granules::Granules;
pub use held::Held;
pub use spawner::{Claiming, Within};
#[cfg(all(test, model = "loom"))]
pub(crate) use toggle::{BucketLock, Phase};
