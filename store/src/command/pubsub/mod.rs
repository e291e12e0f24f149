//! Commands on channels.
//!
//! | file | contents |
//! |---|---|
//! | `subscribe` | SUBSCRIBE, PSUBSCRIBE and their opposites |
//! | `publish` | PUBLISH and PUBSUB |

mod publish;
mod subscribe;

use super::container::{container, help, list_subcommands};
use super::{Call, Command, CommandError, CommandResult, Family, Flags};
use publish::{channels, numpat, numsub, publish};
use subscribe::{psubscribe, punsubscribe, subscribe, unsubscribe};

/// The flags of commands that change what the session listens to.
const LISTENING: &[Flags] = &[Flags::PUBSUB, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE];

const FAMILY: Family = Family::new("pubsub", &[]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("subscribe", -2, subscribe).flags(LISTENING).doc(
        "2.0.0",
        "O(N) where N is the number of channels to subscribe to.",
        "Listen for messages published to the given channels",
    ),
    Command::new("unsubscribe", -1, unsubscribe).flags(LISTENING).doc(
        "2.0.0",
        "O(N) where N is the number of clients already subscribed to a channel.",
        "Stop listening for messages posted to the given channels",
    ),
    Command::new("psubscribe", -2, psubscribe).flags(LISTENING).doc(
        "2.0.0",
        "O(N) where N is the number of patterns the client is already subscribed to.",
        "Listen for messages published to channels matching the given patterns",
    ),
    Command::new("punsubscribe", -1, punsubscribe).flags(LISTENING).doc(
        "2.0.0",
        "O(N+M) where N is the number of patterns the client is already subscribed and M is the number of \
         total patterns subscribed in the system (by any client).",
        "Stop listening for messages posted to channels matching the given patterns",
    ),
    Command::new("publish", 3, publish)
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE, Flags::FAST, Flags::MAY_REPLICATE])
        .doc(
            "2.0.0",
            "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total \
             number of subscribed patterns (by any client).",
            "Post a message to a channel",
        ),
    Command::new("pubsub", -2, container)
        .doc("2.8.0", "Depends on subcommand", "A container for Pub/Sub commands")
        .subcommands(
            &FAMILY.commands([
                help("pubsub|help", list_own, "6.2.0"),
                Command::new("pubsub|numsub", -2, numsub)
                    .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE])
                    .doc(
                        "2.8.0",
                        "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
                        "Get the count of subscribers for channels",
                    ),
                Command::new("pubsub|numpat", 2, numpat)
                    .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE])
                    .doc("2.8.0", "O(1)", "Get the count of unique patterns pattern subscriptions"),
                Command::new("pubsub|channels", -2, channels)
                    .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE])
                    .doc(
                        "2.8.0",
                        "O(N) where N is the number of active channels, and assuming constant time pattern \
                         matching (relatively short channels and patterns)",
                        "List active channels",
                    ),
            ]),
        ),
]);

/// The help on the containers of this family.
fn list_own(call: &mut Call<'_, '_>) -> CommandResult {
    list_subcommands(call, COMMANDS)
}
