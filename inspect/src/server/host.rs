//! The names by which the server may be asked for.
//!
//! A page of another site can let its own name lead to this server's address (DNS rebinding), and
//! would then read what it answers. The browser still sends that name as `Host`, so only names that
//! no other site can have are answered: addresses, `localhost`, and names that the program allows.

use std::net::{IpAddr, Ipv6Addr};

/// Returns true if a request with this `Host` is answered.
pub(super) fn is_allowed(host: Option<&str>, allowed: &[String]) -> bool {
    let Some(host) = host else { return false };
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        return address.parse::<Ipv6Addr>().is_ok() && is_port(port);
    }
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_known = name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
    is_known && is_port(port)
}

/// Returns the name of a host as [`is_allowed`] compares it: without a port and a final dot.
pub(crate) fn name_of(host: &str) -> &str {
    let name = host.rsplit_once(':').filter(|(_, port)| is_number(port)).map_or(host, |(name, _)| name);
    name.strip_suffix('.').unwrap_or(name)
}

/// Returns true for `:` and a number, which may lack, and for nothing. A forwarded port may be
/// another one.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(is_number)
}

fn is_number(digits: &str) -> bool {
    digits.bytes().all(|digit| digit.is_ascii_digit()) && (digits.is_empty() || digits.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_no_site_can_have_are_allowed() {
        let allowed = ["my-machine".to_owned()];
        for host in [
            "127.0.0.1",
            "127.0.0.1:9100",
            "localhost:1",
            "LocalHost",
            "localhost:",
            "[::1]:9100",
            "[::1]",
            "10.0.0.7:80",
            "My-Machine:9",
        ] {
            assert!(is_allowed(Some(host), &allowed), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:9100",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:x",
            "localhost:+1",
            "localhost:65536",
            "[::1",
            "[evil]",
            "::1",
            "[::1]evil",
            "127.0.0.1@evil",
            "localhost:9100:1",
        ] {
            assert!(!is_allowed(Some(host), &allowed), "{host}");
        }
        assert!(!is_allowed(None, &allowed));
    }

    #[test]
    fn names_have_no_port_and_no_final_dot() {
        for host in ["a.b", "a.b.", "a.b:80", "a.b.:80", "a.b:"] {
            assert_eq!(name_of(host), "a.b", "{host}");
        }
    }
}
