//! What operators look at: SLOWLOG, LATENCY and MONITOR.
//!
//! | file | contents |
//! |---|---|
//! | `slow_log` | SLOWLOG |
//! | `latency` | LATENCY |
//! | `graph`, `report` | its texts for people |
//! | `monitor` | MONITOR |
//! | `times` | what becomes of the time of a request |
//! | `redact` | arguments as they are shown to others |

mod graph;
mod latency;
mod monitor;
mod redact;
mod report;
mod slow_log;
mod times;

use super::container::{container, help, list_subcommands};
use super::{Call, Command, CommandResult, Flags};
pub(crate) use monitor::show;
pub(crate) use times::{note_event_since, note_time};

const OF_SLOWLOG: &[Flags] = &[Flags::ADMIN, Flags::LOADING, Flags::STALE];
/// Also those of MONITOR.
const OF_LATENCY: &[Flags] = &[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE];

pub(super) const COMMANDS: &[Command] = &[
    Command::new("slowlog", -2, container)
        .doc("server", "2.2.12", "Depends on subcommand.", "A container for slow log commands")
        .subcommands(&[
            Command::new("slowlog|reset", 2, slow_log::reset).flags(OF_SLOWLOG).doc(
                "server",
                "2.2.12",
                "O(N) where N is the number of entries in the slowlog",
                "Clear all entries from the slow log",
            ),
            help("slowlog|help", list_own, "server", "6.2.0"),
            Command::new("slowlog|get", -2, slow_log::get).flags(OF_SLOWLOG).doc(
                "server",
                "2.2.12",
                "O(N) where N is the number of entries returned",
                "Get the slow log's entries",
            ),
            Command::new("slowlog|len", 2, slow_log::len).flags(OF_SLOWLOG).doc(
                "server",
                "2.2.12",
                "O(1)",
                "Get the slow log's length",
            ),
        ]),
    Command::new("monitor", 1, monitor::monitor).flags(OF_LATENCY).doc(
        "server",
        "1.0.0",
        "",
        "Listen for all requests received by the server in real time",
    ),
    Command::new("latency", -2, container)
        .doc("server", "2.8.13", "Depends on subcommand.", "A container for latency diagnostics commands")
        .subcommands(&[
            help("latency|help", list_own, "server", "2.8.13").doc(
                "server",
                "2.8.13",
                "O(1)",
                "Show helpful text about the different subcommands.",
            ),
            Command::new("latency|history", 3, latency::history).flags(OF_LATENCY).doc(
                "server",
                "2.8.13",
                "O(1)",
                "Return timestamp-latency samples for the event.",
            ),
            Command::new("latency|doctor", 2, latency::doctor).flags(OF_LATENCY).doc(
                "server",
                "2.8.13",
                "O(1)",
                "Return a human readable latency analysis report.",
            ),
            Command::new("latency|histogram", -2, latency::histogram).flags(OF_LATENCY).doc(
                "server",
                "7.0.0",
                "O(N) where N is the number of commands with latency information being retrieved.",
                "Return the cumulative distribution of latencies of a subset of commands or all.",
            ),
            Command::new("latency|reset", -2, latency::reset).flags(OF_LATENCY).doc(
                "server",
                "2.8.13",
                "O(1)",
                "Reset latency data for one or more events.",
            ),
            Command::new("latency|graph", 3, latency::graph).flags(OF_LATENCY).doc(
                "server",
                "2.8.13",
                "O(1)",
                "Return a latency graph for the event.",
            ),
            Command::new("latency|latest", 2, latency::latest).flags(OF_LATENCY).doc(
                "server",
                "2.8.13",
                "O(1)",
                "Return the latest latency samples for all events.",
            ),
        ]),
];

/// The help on the containers of this family.
fn list_own(call: &mut Call<'_, '_>) -> CommandResult {
    list_subcommands(call, COMMANDS)
}
