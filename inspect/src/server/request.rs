//! Reads the head of a request, bounded in size and time.

use super::Refusal;
use std::io::Read;
use std::net::TcpStream;
use std::time::Instant;

/// The longest head of a request, in bytes. Browsers send about 1 KiB.
const MAX_HEAD: usize = 8 << 10;

/// The most headers of a request.
const MAX_HEADERS: usize = 64;

/// A header that the page sends. A browser lets a page of another site send it only if the server
/// allows that, which it never does: the browser asks by `OPTIONS` before, and there is only `GET`.
const MARK: &str = "XTasking-Page";

/// What the server looks at in a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// The path, without the query.
    pub path: String,
    /// What follows the `?`; empty if nothing does.
    pub query: String,
    /// The header `Host`, if there is exactly one.
    pub host: Option<String>,
    /// Whether a page of another site makes the browser send this, by `Sec-Fetch-Site`. Browsers
    /// send that over TLS and to loopback addresses only.
    pub is_cross_site: bool,
    /// Whether it has the header [`MARK`].
    pub is_marked: bool,
}

/// Reads a request until the empty line after its headers. A body is not read.
///
/// # Errors
///
/// If the head is malformed, too long, not complete at the deadline, or not of a GET.
pub(super) fn read(stream: &mut TcpStream, deadline: Instant) -> Result<Request, Refusal> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or(Refusal::Slow)?)).map_err(|_| Refusal::Gone)?;
        let count = match stream.read(&mut chunk) {
            Ok(0) => return Err(Refusal::Gone),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) if is_timeout(&error) => return Err(Refusal::Slow),
            Err(_) => return Err(Refusal::Gone),
        };
        head.extend_from_slice(&chunk[..count]);
        if let Some(request) = parse(&head)? {
            return Ok(request);
        }
        if head.len() >= MAX_HEAD {
            return Err(Refusal::TooLong);
        }
    }
}

/// Returns true if a read has passed its time limit.
fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// Parses a head; `None` if it is not complete.
fn parse(head: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLong),
        Err(_) => return Err(Refusal::Malformed),
    }
    if parsed.method != Some("GET") {
        return Err(Refusal::Method);
    }
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let values = |name: &str| {
        let same = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        same.map(|header| String::from_utf8_lossy(header.value).trim().to_owned()).collect::<Vec<_>>()
    };
    let site = values("sec-fetch-site");
    Ok(Some(Request {
        path: path.to_owned(),
        query: query.to_owned(),
        host: <[String; 1]>::try_from(values("host")).ok().map(|[host]| host),
        is_cross_site: site.iter().any(|site| site != "same-origin" && site != "none"),
        is_marked: !values(MARK).is_empty(),
    }))
}

impl Request {
    /// Returns the value of a parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|&(key, _)| key == name).map(|(_, value)| value).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_parsed_when_it_is_complete() {
        let head =
            b"GET /timeline?seconds=2&x=y HTTP/1.1\r\nHost: localhost:9100\r\nSec-Fetch-Site: none\r\n\r\n";
        for end in 0..head.len() {
            assert_eq!(parse(&head[..end]), Ok(None));
        }
        let request = parse(head).unwrap().expect("the head is complete");
        assert_eq!((&*request.path, request.host.as_deref()), ("/timeline", Some("localhost:9100")));
        assert_eq!((request.parameter("seconds"), request.parameter("y")), (Some("2"), None));
        assert!(!request.is_cross_site && !request.is_marked);
    }

    #[test]
    fn other_heads_are_refused() {
        let lines = |count| "X: y\r\n".repeat(count);
        for (head, refusal) in [
            ("POST / HTTP/1.1\r\n\r\n".to_owned(), Refusal::Method),
            ("HEAD / HTTP/1.1\r\n\r\n".to_owned(), Refusal::Method),
            ("GET\r\n\r\n".to_owned(), Refusal::Malformed),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n".to_owned(), Refusal::Malformed),
            ("\u{0}\u{1}\r\n\r\n".to_owned(), Refusal::Malformed),
            (format!("GET / HTTP/1.1\r\n{}\r\n", lines(MAX_HEADERS + 1)), Refusal::TooLong),
        ] {
            assert_eq!(parse(head.as_bytes()), Err(refusal), "{head}");
        }
    }

    #[test]
    fn two_hosts_are_none_and_other_sites_are_seen() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nSec-Fetch-Site: cross-site\r\n\
            xtasking-page: 1\r\n\r\n";
        let request = parse(head).unwrap().expect("the head is complete");
        assert!(request.host.is_none() && request.is_cross_site && request.is_marked);
    }
}
