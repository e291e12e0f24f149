//! Connections whose bytes are carried by nothing but memory.

use xtasking::task::Spawner;
use xtasking::{Context, Object, Plain, Priority, Promise, Runtime};
use xtasking_store::Engine;
use xtasking_store::dialogue::{Dialogue, Dialogues, Host, News, Phase};

/// Requests of each connection that all workers have at once.
const REQUESTS: usize = 500;
/// The bytes that come at once.
const PIECE: usize = 7;

/// A connection, and what it has sent.
struct Carrier {
    dialogue: Dialogue,
    dialogues: Dialogues,
    output: Vec<u8>,
    /// Gets the output when it has this many bytes, or when the connection is closed.
    awaited: Option<(usize, Promise<Vec<u8>>)>,
}

#[derive(Clone)]
struct Place(Object<Plain<Carrier>>);

impl Host for Place {
    fn bring<S: Spawner>(&self, spawner: S, news: News) {
        let this = self.clone();
        spawner.task(self.0.write()).priority(Priority::Normal).spawn(move |carrier, cx| {
            carrier.dialogue.take(news, &mut carrier.output, 0, cx);
            carrier.dialogue.run(&this, &mut carrier.output, 0, cx);
            carrier.settle(cx);
        });
    }
}

impl Carrier {
    /// Closes if that is due, and passes on what was waited for.
    fn settle(&mut self, cx: &mut Context) {
        if self.dialogue.wants_close(0) {
            self.dialogues.remove(self.dialogue.id());
            self.dialogue.close(cx);
        }
        let is_closed = self.dialogue.phase() == Phase::Closed;
        if let Some((_, promise)) =
            self.awaited.take_if(|(bytes, _)| is_closed || self.output.len() >= *bytes)
        {
            promise.fulfil(std::mem::take(&mut self.output));
        }
    }
}

/// The client's end of a connection.
struct Pipe {
    place: Place,
    id: u64,
}

impl Pipe {
    fn open(rt: &Runtime, engine: &Engine, dialogues: &Dialogues, worker: usize) -> Option<Self> {
        let dialogue = dialogues.open(engine, "pipe:1", "pipe:0")?;
        let id = dialogue.id();
        let carrier = Carrier { dialogue, dialogues: dialogues.clone(), output: Vec::new(), awaited: None };
        let place = Place(rt.plain(carrier).core(worker).build());
        dialogues.insert(rt, id, place.clone());
        Some(Self { place, id })
    }

    /// Sends bytes in pieces, each by a task.
    fn send(&self, rt: &Runtime, bytes: &str) {
        for piece in bytes.as_bytes().chunks(PIECE) {
            let (this, piece) = (self.place.clone(), piece.to_vec());
            rt.task(self.place.0.write()).spawn(move |carrier, cx| {
                carrier.dialogue.input().extend_from_slice(&piece);
                carrier.dialogue.run(&this, &mut carrier.output, 0, cx);
                carrier.settle(cx);
            });
        }
    }

    /// Waits for this many bytes, or for the end, and compares what has come.
    fn wait(&self, rt: &Runtime, bytes: usize, expected: &str) -> Result<(), String> {
        let (promise, handle) = rt.promise();
        rt.task(self.place.0.write()).spawn(move |carrier, cx| {
            carrier.awaited = Some((bytes, promise));
            carrier.settle(cx);
        });
        let output = handle.join().map_err(|error| format!("pipes: {error}"))?;
        match output == expected.as_bytes() {
            true => Ok(()),
            false => Err(format!("pipes: {} instead of {expected:?}", output.escape_ascii())),
        }
    }

    /// Waits for bytes.
    fn expect(&self, rt: &Runtime, expected: &str) -> Result<(), String> {
        self.wait(rt, expected.len(), expected)
    }

    /// Waits for the last bytes, after which the connection is closed.
    fn expect_end(&self, rt: &Runtime, expected: &str) -> Result<(), String> {
        self.wait(rt, usize::MAX, expected)
    }

    /// Sends requests, and waits for their replies.
    fn ask(&self, rt: &Runtime, requests: &str, replies: &str) -> Result<(), String> {
        self.send(rt, requests);
        self.expect(rt, replies)
    }
}

/// Runs connections. Returns what has happened.
///
/// # Errors
///
/// The first wrong reply.
pub fn run(rt: &Runtime, engine: &Engine, dialogues: &Dialogues) -> Result<String, String> {
    let open = |worker| Pipe::open(rt, engine, dialogues, worker).ok_or("pipes: there are too many");
    let (a, b, c) = (open(0)?, open(rt.workers() - 1)?, open(0)?);
    a.ask(rt, "SET pipe:a 1\r\n*2\r\n$4\r\nINCR\r\n$6\r\npipe:a\r\n", "+OK\r\n:2\r\n")?;
    b.ask(rt, "SUBSCRIBE news\r\n", "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n")?;
    a.ask(rt, "PUBLISH news hello\r\n", ":1\r\n")?;
    b.expect(rt, "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n")?;
    // The reply before a request that waits comes at once.
    a.ask(rt, "PING\r\nBLPOP pipe:q 0\r\nPING\r\n", "+PONG\r\n")?;
    c.ask(rt, "RPUSH pipe:q x\r\n", ":1\r\n")?;
    a.expect(rt, "*2\r\n$6\r\npipe:q\r\n$1\r\nx\r\n+PONG\r\n")?;
    c.ask(rt, &format!("CLIENT KILL ID {}\r\n", b.id), ":1\r\n")?;
    b.expect_end(rt, "")?;
    c.send(rt, "*1\r\n$x\r\n");
    c.expect_end(rt, "-ERR Protocol error: invalid bulk length\r\n")?;
    a.send(rt, "QUIT\r\n");
    a.expect_end(rt, "+OK\r\n")?;
    let told = run_many(rt, &(0..rt.workers()).map(open).collect::<Result<Vec<_>, _>>()?)?;
    finish(rt, dialogues, &open(0)?, &open(rt.workers() - 1)?)?;
    Ok(told)
}

/// Ends all dialogues: one that waits for a key, and one that does nothing.
fn finish(rt: &Runtime, dialogues: &Dialogues, waiting: &Pipe, idle: &Pipe) -> Result<(), String> {
    waiting.ask(rt, "PING\r\nBLPOP pipe:q 0\r\n", "+PONG\r\n")?;
    idle.ask(rt, "PING\r\n", "+PONG\r\n")?;
    let all = dialogues.finish(rt);
    [waiting, idle].into_iter().try_for_each(|pipe| pipe.expect_end(rt, ""))?;
    all.join().map_err(|error| format!("pipes: {error}"))
}

/// Sends many requests by all connections at once.
fn run_many(rt: &Runtime, pipes: &[Pipe]) -> Result<String, String> {
    for (number, pipe) in pipes.iter().enumerate() {
        let request = |count| format!("ECHO {count}\r\nINCR pipe:{number}\r\n");
        pipe.send(rt, &((0..REQUESTS).map(request).collect::<String>() + "QUIT\r\n"));
    }
    let echo = |count: usize| format!("${}\r\n{count}\r\n:{}\r\n", count.to_string().len(), count + 1);
    let replies = (0..REQUESTS).map(echo).collect::<String>() + "+OK\r\n";
    pipes.iter().try_for_each(|pipe| pipe.expect_end(rt, &replies))?;
    Ok(format!("pipes: {} replies to each of {} connections, in order", 2 * REQUESTS, pipes.len()))
}
