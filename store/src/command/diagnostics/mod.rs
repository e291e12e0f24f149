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
use super::family::{FOR_ADMINISTRATORS, Family};
use super::{Call, Command, CommandResult, Flags};
pub(crate) use monitor::show;
pub(crate) use times::{note_event_since, note_time};

const OF_SLOWLOG: &[Flags] = &[Flags::ADMIN, Flags::LOADING, Flags::STALE];

const FAMILY: Family = Family::new("server", &[]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("slowlog", -2, container)
        .doc("2.2.12", "Depends on subcommand.", "A container for slow log commands")
        .subcommands(&FAMILY.commands([
            Command::new("slowlog|reset", 2, slow_log::reset).flags(OF_SLOWLOG).doc(
                "2.2.12",
                "O(N) where N is the number of entries in the slowlog",
                "Clear all entries from the slow log",
            ),
            help("slowlog|help", list_own, "6.2.0"),
            Command::new("slowlog|get", -2, slow_log::get).flags(OF_SLOWLOG).doc(
                "2.2.12",
                "O(N) where N is the number of entries returned",
                "Get the slow log's entries",
            ),
            Command::new("slowlog|len", 2, slow_log::len).flags(OF_SLOWLOG).doc(
                "2.2.12",
                "O(1)",
                "Get the slow log's length",
            ),
        ])),
    Command::new("monitor", 1, monitor::monitor).flags(FOR_ADMINISTRATORS).doc(
        "1.0.0",
        "",
        "Listen for all requests received by the server in real time",
    ),
    Command::new("latency", -2, container)
        .doc("2.8.13", "Depends on subcommand.", "A container for latency diagnostics commands")
        .subcommands(&FAMILY.commands([
            help("latency|help", list_own, "2.8.13").doc(
                "2.8.13",
                "O(1)",
                "Show helpful text about the different subcommands.",
            ),
            Command::new("latency|history", 3, latency::history).flags(FOR_ADMINISTRATORS).doc(
                "2.8.13",
                "O(1)",
                "Return timestamp-latency samples for the event.",
            ),
            Command::new("latency|doctor", 2, latency::doctor).flags(FOR_ADMINISTRATORS).doc(
                "2.8.13",
                "O(1)",
                "Return a human readable latency analysis report.",
            ),
            Command::new("latency|histogram", -2, latency::histogram).flags(FOR_ADMINISTRATORS).doc(
                "7.0.0",
                "O(N) where N is the number of commands with latency information being retrieved.",
                "Return the cumulative distribution of latencies of a subset of commands or all.",
            ),
            Command::new("latency|reset", -2, latency::reset).flags(FOR_ADMINISTRATORS).doc(
                "2.8.13",
                "O(1)",
                "Reset latency data for one or more events.",
            ),
            Command::new("latency|graph", 3, latency::graph).flags(FOR_ADMINISTRATORS).doc(
                "2.8.13",
                "O(1)",
                "Return a latency graph for the event.",
            ),
            Command::new("latency|latest", 2, latency::latest).flags(FOR_ADMINISTRATORS).doc(
                "2.8.13",
                "O(1)",
                "Return the latest latency samples for all events.",
            ),
        ])),
]);

/// The help on the containers of this family.
fn list_own(call: &mut Call<'_, '_>) -> CommandResult {
    list_subcommands(call, COMMANDS)
}
