//! Commands for the image `store`, each with the reply that it must get.

use crate::{LIMIT, Outcome, Pattern, connect};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Requests of a pipeline of each connection.
const PIPELINE: usize = 500;
/// Bytes of a value of each connection.
const VALUE: usize = 50_000;
/// The time between two looks at something that takes a while.
const PAUSE: Duration = Duration::from_millis(50);
/// What a client gets if there are too many.
const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

/// A client with a connection.
struct Client(TcpStream);

/// Returns a request of these words.
fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    words.iter().for_each(|word| bytes.extend(bulk(word)));
    bytes
}

/// Returns a string as requests and replies have it.
fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Returns the beginning of bytes, for an error.
fn beginning(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(200)].escape_ascii().to_string()
}

/// Returns bytes that differ from those of another seed.
fn value(seed: u64, bytes: usize) -> Vec<u8> {
    let mut value = vec![0; bytes];
    Pattern::new(seed).fill(&mut value);
    value
}

impl Client {
    /// Connects. The image has the connection then.
    fn open(port: u16) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let mut client = Self(connect(port)?);
        client.ask("PING\r\n", "+PONG\r\n")?;
        Ok(client)
    }

    /// Sends requests.
    fn send(&mut self, requests: impl AsRef<[u8]>) -> io::Result<()> {
        self.0.write_all(requests.as_ref())
    }

    /// Receives these replies.
    fn expect(&mut self, replies: impl AsRef<[u8]>) -> Outcome {
        let replies = replies.as_ref();
        let mut got = Vec::new();
        (&self.0).take(replies.len() as u64).read_to_end(&mut got)?;
        if got == replies {
            return Ok(());
        }
        let same = got.iter().zip(replies).take_while(|(got, reply)| got == reply).count();
        let (got, reply) = (beginning(&got[same..]), beginning(&replies[same..]));
        Err(format!("after {same} bytes of the replies: {got:?} instead of {reply:?}").into())
    }

    /// Sends requests, and receives their replies.
    fn ask(&mut self, requests: impl AsRef<[u8]>, replies: impl AsRef<[u8]>) -> Outcome {
        self.send(requests)?;
        self.expect(replies)
    }

    /// Receives these replies, and the end.
    fn expect_end(&mut self, replies: &[u8]) -> Outcome {
        let mut got = Vec::new();
        self.0.read_to_end(&mut got)?;
        if got == replies {
            return Ok(());
        }
        Err(format!("at the end {:?} instead of {:?}", beginning(&got), beginning(replies)).into())
    }

    /// Stores a value, and gets it back.
    fn store(&mut self, key: &str, value: &[u8]) -> Outcome {
        self.ask(request(&[b"SET", key.as_bytes(), value]), "+OK\r\n")?;
        self.ask(format!("STRLEN {key}\r\n"), format!(":{}\r\n", value.len()))?;
        self.ask(format!("GET {key}\r\n"), bulk(value))
    }
}

/// Runs commands on many connections at once, then what needs two, with a large value last.
pub fn talk(port: u16, count: usize, mebibytes: usize) -> Outcome {
    let mut clients = (0..count).map(|_| Client::open(port)).collect::<Result<Vec<_>, _>>()?;
    clients[0].ask("FLUSHALL\r\n", "+OK\r\n")?;
    thread::scope(|scope| {
        let run = |(number, client)| scope.spawn(move || run(client, number));
        let threads: Vec<_> = clients.iter_mut().enumerate().map(run).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    // No command of any connection is lost.
    clients[0].ask("GET all\r\n", bulk((count * PIPELINE).to_string().as_bytes()))?;
    drop(clients);
    let (mut one, mut other) = (Client::open(port)?, Client::open(port)?);
    run_two(&mut one, &mut other)?;
    refuse(port, &mut one)?;
    end_by_others(port, &mut one, other)?;
    one.store("large", &value(1, mebibytes << 20))
}

/// Runs the commands of one connection.
fn run(client: &mut Client, number: usize) -> Outcome {
    let key = format!("own:{number}");
    client.store(&key, &value(number as u64, VALUE))?;
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    client.ask(format!("LPUSH {key} x\r\n"), wrong)?;
    client.ask(format!("RPUSH {key}:list a b c\r\n"), ":3\r\n")?;
    client.ask(format!("LRANGE {key}:list 1 -1\r\n"), "*2\r\n$1\r\nb\r\n$1\r\nc\r\n")?;
    let transaction = format!("MULTI\r\nSET {key} 7\r\nINCR {key}\r\nEXEC\r\n");
    client.ask(transaction, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:8\r\n")?;
    let step = |step: usize| format!("ECHO {step}\r\nINCR {key}:count\r\nSETEX {key}:x 100 {step}\r\n");
    let reply = |step: usize| format!("${}\r\n{step}\r\n:{}\r\n+OK\r\n", step.to_string().len(), step + 1);
    let all = |of: &dyn Fn(usize) -> String| (0..PIPELINE).map(of).collect::<String>();
    client.ask(all(&step), all(&reply))?;
    // Their replies depend on the other connections.
    client.send("MULTI\r\n".to_owned() + &"INCR all\r\n".repeat(PIPELINE) + "DISCARD\r\n")?;
    client.expect("+OK\r\n".to_owned() + &"+QUEUED\r\n".repeat(PIPELINE) + "+OK\r\n")?;
    let increments = format!("CLIENT REPLY OFF\r\n{}CLIENT REPLY ON\r\n", "INCR all\r\n".repeat(PIPELINE));
    client.ask(increments, "+OK\r\n")
}

/// Runs what needs two connections: a wait for a key, and messages.
fn run_two(one: &mut Client, other: &mut Client) -> Outcome {
    // The reply before a request that waits comes at once.
    one.ask("PING\r\nBLPOP queue 0\r\nPING\r\n", "+PONG\r\n")?;
    other.ask("RPUSH queue x\r\n", ":1\r\n")?;
    one.expect("*2\r\n$5\r\nqueue\r\n$1\r\nx\r\n+PONG\r\n")?;
    other.ask("SUBSCRIBE news\r\n", "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n")?;
    one.ask("PUBLISH news hello\r\n", ":1\r\n")?;
    other.expect("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n")?;
    other.ask("UNSUBSCRIBE news\r\n", "*3\r\n$11\r\nunsubscribe\r\n$4\r\nnews\r\n:0\r\n")
}

/// Lets a client connect that must be refused.
fn refuse(port: u16, one: &mut Client) -> Outcome {
    one.ask("CONFIG SET maxclients 1\r\n", "+OK\r\n")?;
    Client(connect(port)?).expect_end(TOO_MANY)?;
    one.ask("CONFIG SET maxclients 1000\r\n", "+OK\r\n")
}

/// Lets connections end: by another one, by a wrong request, by QUIT.
fn end_by_others(port: u16, one: &mut Client, mut other: Client) -> Outcome {
    other.ask("CLIENT SETNAME other\r\nSET killed no\r\n", "+OK\r\n+OK\r\n")?;
    one.ask("CLIENT KILL SKIPME yes\r\n", ":1\r\n")?;
    other.expect_end(b"")?;
    let mut wrong = Client::open(port)?;
    wrong.send("PING\r\n*x\r\n")?;
    wrong.expect_end(b"+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n")?;
    let mut quits = Client::open(port)?;
    quits.send("PING\r\nQUIT\r\nPING\r\n")?;
    quits.expect_end(b"+PONG\r\n+OK\r\n")?;
    let mut ends = Client::open(port)?;
    ends.send("PING\r\nBLPOP queue 0\r\n")?;
    ends.0.shutdown(Shutdown::Write)?;
    ends.expect_end(b"+PONG\r\n")
}

/// Lets clients break off in the midst of a reply. The image must forget them.
pub fn break_off(port: u16, count: usize, mebibytes: usize) -> Outcome {
    let mut client = Client::open(port)?;
    client.store("large", &value(2, mebibytes << 20))?;
    for _ in 0..count {
        let mut broken = Client::open(port)?;
        broken.send("GET large\r\nGET large\r\n")?;
        broken.0.read_exact(&mut [0; 1000])?;
        broken.0.shutdown(Shutdown::Both)?;
    }
    let begun = Instant::now();
    while !is_alone(&mut client)? {
        if begun.elapsed() > LIMIT {
            return Err("connections that were broken off are still there".into());
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Returns true if the image has no other connection.
fn is_alone(client: &mut Client) -> io::Result<bool> {
    client.send("CLIENT LIST\r\n")?;
    let (mut length, mut byte) = (String::new(), [0]);
    while !length.ends_with('\n') {
        client.0.read_exact(&mut byte)?;
        length.push(byte[0].into());
    }
    let length = length.trim().trim_start_matches('$').parse::<usize>().map_err(io::Error::other)?;
    let mut list = vec![0; length + 2];
    client.0.read_exact(&mut list)?;
    Ok(list.iter().filter(|&&byte| byte == b'\n').count() == 2)
}

/// Ends the image: replies before SHUTDOWN come, and all connections end.
pub fn shut_down(port: u16) -> Outcome {
    let (mut idle, mut waiting, mut last) = (Client::open(port)?, Client::open(port)?, Client::open(port)?);
    waiting.send("BLPOP none 0\r\n")?;
    last.send("PING\r\nSHUTDOWN NOSAVE\r\n")?;
    last.expect_end(b"+PONG\r\n")?;
    idle.expect_end(b"")?;
    waiting.expect_end(b"")
}
