//! ACL LOG: requests that were refused.

use super::super::{Call, CommandResult};
use super::wrong_arguments;

/// The entries that are shown if no number is given.
const SHOWN: i64 = 10;

pub(super) fn log(call: &mut Call<'_, '_>) -> CommandResult {
    let most = match call.args.len() {
        2 => SHOWN,
        3 if call.args.is(2, "reset") => {
            call.server.acl.denials.clear();
            return call.ok();
        }
        3 => call.integer_arg(2)?,
        _ => return Err(wrong_arguments(call)),
    };
    let (now, last) = (call.now(), call.server.acl.denials.last(usize::try_from(most).unwrap_or(0)));
    let reply = &mut *call.reply;
    reply.array(last.len());
    for denied in last {
        reply.map(7);
        reply.bulk(b"count");
        reply.integer(i64::try_from(denied.count).unwrap_or(i64::MAX));
        let texts: [(&str, &[u8]); 4] = [
            ("reason", denied.reason.name().as_bytes()),
            ("context", denied.context.as_bytes()),
            ("object", &denied.object),
            ("username", &denied.user),
        ];
        for (name, text) in texts {
            reply.bulk(name.as_bytes());
            reply.bulk(text);
        }
        reply.bulk(b"age-seconds");
        reply.double(now.saturating_sub(denied.at) as f64 / 1000.0);
        reply.bulk(b"client-info");
        reply.bulk(denied.client.as_bytes());
    }
    call.done()
}
