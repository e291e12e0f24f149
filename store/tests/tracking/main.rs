//! Client-side caching: which messages come to which sessions, and when.

mod caches;
mod messages;

use xtasking_store::engine::Client;
use xtasking_testing::Setting;

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

/// Runs commands that are separated by bars, as a pipeline. Returns the replies, and the messages
/// among them, with spaces for line ends and without lengths.
fn run(client: &mut Client, lines: &str) -> String {
    let mut requests = xtasking_store::resp::Requests::default();
    lines.split(" | ").for_each(|line| requests.push(line.split(' ')));
    shown(&client.run_all(requests).unwrap())
}

fn messages(client: &mut Client) -> String {
    shown(&client.take_messages())
}

fn shown(bytes: &[u8]) -> String {
    let lines = String::from_utf8_lossy(bytes);
    let is_length = |word: &str| word.strip_prefix('$').is_some_and(|rest| rest.parse::<u64>().is_ok());
    let words = lines.split("\r\n").filter(|word| !word.is_empty() && !is_length(word));
    words.collect::<Vec<_>>().join(" ")
}
