//! Requests and replies in the protocols of Redis and of memcached.
//!
//! The size of every reply is known when its request is sent. So a reply is compared piece by piece
//! as it comes, and not parsed.

use super::oracle::{Oracle, Write, start};
use super::records::{KEY_SIZE, Values, key};
use xtasking_harness::failure::Wrong;

/// A protocol that servers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Protocol {
    /// That of Redis.
    Resp,
    /// The text protocol of memcached.
    Memcached,
}

/// A part of the replies of a connection, or what follows from those before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// The number of values that follow.
    Count(u32),
    /// The value of a record, from this write on.
    Value { record: u64, floor: u32 },
    /// The end of values, in memcached's protocol.
    End,
    /// That something was stored.
    Stored,
    /// That a request waits for the end of a transaction.
    Queued,
    /// No bytes: a write is acknowledged.
    Write(Write),
    /// No bytes: a record was added.
    Insert(u64),
    /// No bytes: a request is answered that was due at this time.
    Answered { due: u64 },
}

/// A protocol, with values of one size.
pub(super) struct Dialect {
    protocol: Protocol,
    /// What stands before each value, after the key if that is repeated.
    header: Vec<u8>,
}

impl Dialect {
    pub fn new(protocol: Protocol, value_size: usize) -> Self {
        let header = match protocol {
            Protocol::Resp => format!("${value_size}\r\n"),
            Protocol::Memcached => format!(" 0 {value_size}\r\n"),
        };
        Self { protocol, header: header.into_bytes() }
    }

    /// Appends a request that reads records; `several` if it is one for any number of them.
    pub fn read(&self, records: &[u64], several: bool, out: &mut Vec<u8>) {
        match self.protocol {
            Protocol::Resp if several => {
                head(records.len() + 1, b"\r\n$4\r\nMGET\r\n", out);
                records.iter().for_each(|&record| argument(record, out));
            }
            Protocol::Resp => {
                out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
                argument(records[0], out);
            }
            Protocol::Memcached => {
                out.extend_from_slice(b"get");
                for &record in records {
                    out.push(b' ');
                    out.extend_from_slice(&key(record));
                }
                out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Appends a request that writes a record.
    pub fn write(&self, record: u64, version: u32, values: Values, out: &mut Vec<u8>) {
        match self.protocol {
            Protocol::Resp => {
                out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
                self.pair(record, version, values, out);
            }
            Protocol::Memcached => {
                out.extend_from_slice(b"set ");
                out.extend_from_slice(&key(record));
                out.extend_from_slice(b" 0");
                // The number of bytes is the last in the header of a value.
                out.extend_from_slice(&self.header);
                values.append(record, version, out);
                out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Appends one request of Redis' protocol that does several writes.
    pub fn write_all(&self, writes: &[Write], values: Values, out: &mut Vec<u8>) {
        head(2 * writes.len() + 1, b"\r\n$4\r\nMSET\r\n", out);
        writes.iter().for_each(|write| self.pair(write.record, write.version, values, out));
    }

    /// Appends a transaction of Redis' protocol that does several writes, a request each.
    pub fn transaction(&self, writes: &[Write], values: Values, out: &mut Vec<u8>) {
        out.extend_from_slice(b"*1\r\n$5\r\nMULTI\r\n");
        writes.iter().for_each(|write| self.write(write.record, write.version, values, out));
        out.extend_from_slice(b"*1\r\n$4\r\nEXEC\r\n");
    }

    /// Appends a key and its value as arguments of Redis' protocol.
    fn pair(&self, record: u64, version: u32, values: Values, out: &mut Vec<u8>) {
        argument(record, out);
        out.extend_from_slice(&self.header);
        values.append(record, version, out);
        out.extend_from_slice(b"\r\n");
    }

    /// Appends what stands before the values of several records, if anything.
    pub fn count(&self, values: usize) -> Option<Part> {
        (self.protocol == Protocol::Resp).then_some(Part::Count(values as u32))
    }

    /// Returns what stands after values, if anything.
    pub fn end(&self) -> Option<Part> {
        (self.protocol == Protocol::Memcached).then_some(Part::End)
    }

    /// Compares what has come with a part. Returns the number of bytes of the part, or `None` if
    /// some of them have not come yet.
    ///
    /// # Errors
    ///
    /// If another reply has come.
    #[inline]
    pub fn check(&self, part: Part, oracle: &Oracle, bytes: &[u8]) -> Result<Option<usize>, Wrong> {
        match part {
            Part::Write(_) | Part::Insert(_) | Part::Answered { .. } => Ok(Some(0)),
            Part::End => literal(bytes, 0, b"END\r\n"),
            Part::Stored if self.protocol == Protocol::Resp => literal(bytes, 0, b"+OK\r\n"),
            Part::Stored => literal(bytes, 0, b"STORED\r\n"),
            Part::Queued => literal(bytes, 0, b"+QUEUED\r\n"),
            Part::Count(values) => literal(bytes, 0, format!("*{values}\r\n").as_bytes()),
            Part::Value { record, floor } => {
                let header = match self.protocol {
                    Protocol::Resp => literal(bytes, 0, &self.header)?,
                    Protocol::Memcached => self.repeated(record, bytes)?,
                };
                let Some(header) = header else { return Ok(None) };
                let end = header + oracle.values.size;
                let Some(value) = bytes.get(header..end) else { return Ok(None) };
                oracle.check(record, floor, value)?;
                literal(bytes, end, b"\r\n")
            }
        }
    }

    /// Compares what stands before a value in memcached's protocol.
    fn repeated(&self, record: u64, bytes: &[u8]) -> Result<Option<usize>, Wrong> {
        const BEFORE: &[u8] = b"VALUE ";
        if literal(bytes, 0, BEFORE)?.is_none() || literal(bytes, BEFORE.len(), &key(record))?.is_none() {
            return Ok(None);
        }
        literal(bytes, BEFORE.len() + KEY_SIZE, &self.header)
    }
}

/// Appends the start of a request with a number of arguments.
fn head(arguments: usize, rest: &[u8], out: &mut Vec<u8>) {
    out.push(b'*');
    out.extend_from_slice(arguments.to_string().as_bytes());
    out.extend_from_slice(rest);
}

/// Appends a key as an argument of Redis' protocol.
#[inline]
fn argument(record: u64, out: &mut Vec<u8>) {
    let mut argument = *b"$16\r\nkey:000000000000\r\n";
    argument[5..5 + KEY_SIZE].copy_from_slice(&key(record));
    out.extend_from_slice(&argument);
}

/// Compares bytes from a position on with what belongs there. Returns the end, or `None` if some of
/// them have not come yet.
#[inline]
fn literal(bytes: &[u8], from: usize, expected: &[u8]) -> Result<Option<usize>, Wrong> {
    let got = bytes.get(from..).unwrap_or_default();
    let compared = got.len().min(expected.len());
    if got[..compared] != expected[..compared] {
        return Err(Wrong::new(format!(
            "a reply has \"{}\" where \"{}\" belongs",
            start(got),
            start(expected)
        )));
    }
    Ok((compared == expected.len()).then_some(from + compared))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: Values = Values { size: 8, seed: 1 };

    fn text(request: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        request(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn requests_are_those_of_the_protocols() {
        let value = text(|out| VALUES.append(9, 1, out));
        let (resp, memcached) = (Dialect::new(Protocol::Resp, 8), Dialect::new(Protocol::Memcached, 8));
        let get = text(|out| resp.read(&[9], false, out));
        assert_eq!(get, "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000009\r\n");
        let mget = text(|out| resp.read(&[9], true, out));
        assert_eq!(mget, "*2\r\n$4\r\nMGET\r\n$16\r\nkey:000000000009\r\n");
        let set = text(|out| resp.write(9, 1, VALUES, out));
        assert_eq!(set, format!("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000009\r\n$8\r\n{value}\r\n"));
        let write = Oracle::new(10, VALUES).write(9, 0);
        let mset = text(|out| resp.write_all(&[write], VALUES, out));
        assert_eq!(mset, format!("*3\r\n$4\r\nMSET\r\n$16\r\nkey:000000000009\r\n$8\r\n{value}\r\n"));
        let gets = text(|out| memcached.read(&[9, 10], true, out));
        assert_eq!(gets, "get key:000000000009 key:000000000010\r\n");
        let set = text(|out| memcached.write(9, 1, VALUES, out));
        assert_eq!(set, format!("set key:000000000009 0 0 8\r\n{value}\r\n"));
    }

    /// Every start of a reply is awaited, and every other byte is found as soon as it comes.
    #[test]
    fn every_byte_of_a_reply_is_checked() {
        let oracle = Oracle::new(10, VALUES);
        let value = text(|out| VALUES.append(9, 0, out));
        let part = Part::Value { record: 9, floor: 0 };
        for (protocol, part, reply) in [
            (Protocol::Resp, part, format!("$8\r\n{value}\r\n")),
            (Protocol::Resp, Part::Stored, "+OK\r\n".to_string()),
            (Protocol::Resp, Part::Count(12), "*12\r\n".to_string()),
            (Protocol::Resp, Part::Queued, "+QUEUED\r\n".to_string()),
            (Protocol::Memcached, part, format!("VALUE key:000000000009 0 8\r\n{value}\r\n")),
            (Protocol::Memcached, Part::Stored, "STORED\r\n".to_string()),
            (Protocol::Memcached, Part::End, "END\r\n".to_string()),
        ] {
            let dialect = Dialect::new(protocol, 8);
            let reply = reply.as_bytes();
            for end in 0..reply.len() {
                assert_eq!(dialect.check(part, &oracle, &reply[..end]).unwrap(), None);
                let mut wrong = reply.to_vec();
                wrong[end] ^= 1;
                assert!(dialect.check(part, &oracle, &wrong).is_err(), "{part:?} at {end}");
            }
            assert_eq!(dialect.check(part, &oracle, reply).unwrap(), Some(reply.len()));
        }
    }
}
