//! Arguments as they are shown to others: without passwords.

use super::super::Command;
use crate::resp::Args;

const REDACTED: &[u8] = b"(redacted)";

/// Returns the arguments of a request, with a word in place of those that are secret.
pub(super) fn shown_args<'a>(command: &Command, args: Args<'a>) -> Vec<&'a [u8]> {
    let mut shown: Vec<&[u8]> = args.iter().collect();
    match command.name {
        _ if planted!("secrets-shown") => {}
        "auth" => shown[1..].fill(REDACTED),
        "hello" => redact_after(&mut shown, 1, "auth", 2),
        "acl|setuser" => shown[2..].fill(REDACTED),
        "config|set" => redact_after(&mut shown, 2, "requirepass", 1),
        _ => {}
    }
    shown
}

/// Hides `hidden` arguments after each one that is this word, also if that one is hidden itself or
/// is the value of another option: however the command reads them, no secret is left.
fn redact_after(args: &mut [&[u8]], first: usize, word: &str, hidden: usize) {
    let named: Vec<usize> =
        (first..args.len()).filter(|&at| args[at].eq_ignore_ascii_case(word.as_bytes())).collect();
    for at in named {
        let end = args.len().min(at + 1 + hidden);
        args[at + 1..end].fill(REDACTED);
    }
}
