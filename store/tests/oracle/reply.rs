//! Replies as values.

use super::redis::end_of_reply;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Anything of one line, with its kind.
    Line(String),
    /// A bulk string.
    Bulk(Vec<u8>),
    /// An array, a set, or a map as its keys and values.
    Array(Vec<Value>),
}

impl Value {
    /// Parses a whole reply.
    pub fn parse(bytes: &[u8]) -> Self {
        let line_end = bytes.windows(2).position(|pair| pair == b"\r\n").expect("the reply has a line");
        let mut at = line_end + 2;
        match bytes[0] {
            b'$' if &bytes[1..line_end] != b"-1" => Self::Bulk(bytes[at..bytes.len() - 2].to_vec()),
            b'*' | b'~' | b'%' if &bytes[1..line_end] != b"-1" => {
                let mut all = Vec::new();
                while at < bytes.len() {
                    let end = end_of_reply(bytes, at).expect("the reply is whole");
                    all.push(Self::parse(&bytes[at..end]));
                    at = end;
                }
                Self::Array(all)
            }
            _ => Self::Line(String::from_utf8_lossy(&bytes[..line_end]).into_owned()),
        }
    }
}
