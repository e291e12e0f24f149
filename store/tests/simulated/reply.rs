//! Replies as values.

/// A reply in RESP2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Line(String),
    Error(String),
    Integer(i64),
    Bulk(String),
    Null,
    Array(Vec<Reply>),
}

impl Reply {
    /// Parses a reply at the beginning of `bytes`, if it is whole. Returns its length, too.
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let line = bytes.windows(2).position(|pair| pair == b"\r\n")?;
        let text = String::from_utf8_lossy(&bytes[1..line]).into_owned();
        let mut at = line + 2;
        let number = || text.parse::<i64>().unwrap_or_else(|_| panic!("{text:?} is not a number"));
        let reply = match bytes[0] {
            b'+' => Self::Line(text),
            b'-' => Self::Error(text),
            b':' => Self::Integer(number()),
            b'$' | b'*' if number() < 0 => Self::Null,
            b'$' => {
                let bulk = bytes.get(at..at + number() as usize + 2)?;
                at += bulk.len();
                Self::Bulk(String::from_utf8_lossy(&bulk[..bulk.len() - 2]).into_owned())
            }
            b'*' => {
                let mut all = Vec::new();
                for _ in 0..number() {
                    let (reply, len) = Self::parse(&bytes[at..])?;
                    at += len;
                    all.push(reply);
                }
                Self::Array(all)
            }
            _ => panic!("{:?} is not a reply", String::from_utf8_lossy(bytes)),
        };
        Some((reply, at))
    }

    /// Returns true for the error of what could not be logged.
    pub fn is_unlogged(&self) -> bool {
        matches!(self, Self::Error(text) if text.starts_with("MISCONF"))
    }

    /// Returns the value of a bulk string, or that there is none.
    pub fn value(&self) -> Option<Option<u64>> {
        match self {
            Self::Bulk(text) => text.parse().ok().map(Some),
            Self::Null => Some(None),
            _ => None,
        }
    }

    /// Returns the values of an array.
    pub fn values(&self) -> Option<Vec<u64>> {
        let Self::Array(all) = self else { return None };
        all.iter().map(|reply| reply.value().flatten()).collect()
    }
}
