//! A small client for the tests.

use std::io::{Read, Write};
use std::net::TcpStream;
use xtasking_inspect::Server;

/// What the server has answered.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Sends the beginning of a request, and leaves the connection open.
pub fn send(server: &Server, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).expect("the server listens");
    // A server with too many connections may have closed it already.
    let _ = stream.write_all(text.as_bytes());
    stream
}

/// Sends a request and reads the answer.
pub fn ask(server: &Server, request: &str) -> Answer {
    let mut text = Vec::new();
    let ended = send(server, request).read_to_end(&mut text);
    let text = String::from_utf8(text).expect("the answer is text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{ended:?}, {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let is_chunked = head.contains("Transfer-Encoding: chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Answer { status: status.expect("a status"), head: head.to_owned(), body }
}

/// Asks for a path as the page does.
pub fn get(server: &Server, path: &str) -> Answer {
    ask(server, &format!("GET {path} HTTP/1.1\r\nHost: {}\r\nXTasking-Page: 1\r\n\r\n", server.address()))
}

/// Reads an answer as JSON.
pub fn json(answer: &Answer) -> serde_json::Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

fn unchunked(mut text: &str) -> String {
    let mut body = String::new();
    loop {
        let (length, rest) = text.split_once("\r\n").expect("the length of a chunk");
        let length = usize::from_str_radix(length, 16).expect("a length");
        let (chunk, rest) = rest.split_at(length);
        text = rest.strip_prefix("\r\n").expect("the end of a chunk");
        if length == 0 {
            assert!(text.is_empty());
            return body;
        }
        body += chunk;
    }
}
