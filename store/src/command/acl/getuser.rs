//! ACL GETUSER.

use super::super::{Call, CommandResult};
use crate::acl::Selector;
use crate::resp::Reply;

pub(super) fn getuser(call: &mut Call<'_, '_>) -> CommandResult {
    let reply = &mut *call.reply;
    let Some(user) = call.server.acl.user(call.args.at(2)) else {
        reply.null();
        return call.done();
    };
    reply.map(6);
    reply.bulk(b"flags");
    let flags = user.flags();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    reply.array(user.passwords().len());
    user.passwords().iter().for_each(|hash| reply.bulk(hash.as_bytes()));
    write_selector(reply, user.root());
    reply.bulk(b"selectors");
    reply.array(user.other_selectors().len());
    for selector in user.other_selectors() {
        reply.map(3);
        write_selector(reply, selector);
    }
    call.done()
}

fn write_selector(reply: &mut Reply, selector: &Selector) {
    let rules = [
        ("commands", selector.command_rules()),
        ("keys", selector.key_rules()),
        ("channels", selector.channel_rules()),
    ];
    for (name, rules) in rules {
        reply.bulk(name.as_bytes());
        reply.bulk(&rules);
    }
}
