//! Clients that are not served.

use crate::engine::Engine;
use crate::server::Setting;

/// What a client gets that [is elsewhere](has_protected_mode).
pub const DENIED: &[u8] =
    b"-DENIED Redis is running in protected mode because protected mode is enabled and no password is \
set for the default user. In this mode connections are only accepted from the loopback interface.\r\n";

/// What a client gets if [`Dialogues::open`](super::Dialogues::open) says that there are too many.
pub const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

/// Returns true if clients on other machines must not be served: the setting `protected-mode` is
/// on, and there is no password.
pub fn has_protected_mode(engine: &Engine) -> bool {
    let server = engine.server();
    server.settings.number(Setting::ProtectedMode) != 0 && server.acl.accepts_any_password()
}
