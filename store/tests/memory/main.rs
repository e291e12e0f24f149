//! The limit of memory: what is evicted, and what is refused.
//!
//! | file | contents |
//! |---|---|
//! | `policies` | which keys go |
//! | `refusals` | commands that are refused |
//! | `followers` | what the log and other clients learn |
//! | `buffers` | those of clients |
//! | `process` | the memory of the program |

#[cfg(feature = "net")]
mod buffers;
mod followers;
mod policies;
#[cfg(all(target_os = "linux", feature = "program"))]
mod process;
mod refusals;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::Runtime;
use xtasking_store::engine::{Builder, Client};
use xtasking_store::{Engine, resp::Requests};

const BEGIN: u64 = 1_000_000_000;
const KIB: u64 = 1 << 10;

/// A store whose time the test sets.
struct Store {
    engine: Engine,
    client: Client,
    time: Arc<AtomicU64>,
    rt: Runtime,
}

fn builder(policy: &str, limit: u64) -> Builder {
    let builder = Engine::builder().shards(16).databases(2).process_memory(|| None);
    builder.setting("maxmemory", limit.to_string()).setting("maxmemory-policy", policy)
}

impl Store {
    fn new(policy: &str, limit: u64) -> Self {
        Self::of(builder(policy, limit))
    }

    fn of(builder: Builder) -> Self {
        let rt = Runtime::builder().workers(2).build().expect("two threads");
        let time = Arc::new(AtomicU64::new(BEGIN));
        let clock = time.clone();
        let engine = builder.clock(move || clock.load(Ordering::SeqCst)).build(&rt);
        Self { client: engine.client(), engine, time, rt }
    }

    fn run(&mut self, line: &str) -> String {
        run(&mut self.client, line)
    }

    /// Sends lines at once, and returns the replies.
    fn pipeline(&mut self, lines: &[String]) -> String {
        let mut requests = Requests::default();
        lines.iter().for_each(|line| requests.push(line.split(' ')));
        String::from_utf8(self.client.run_all(requests).expect("replies")).expect("text")
    }

    fn sleep(&self, seconds: u64) {
        self.time.fetch_add(1000 * seconds, Ordering::SeqCst);
    }

    fn counted(&self) -> u64 {
        self.engine.server().memory.counted()
    }

    fn evicted(&self) -> u64 {
        self.engine.server().memory.evicted()
    }

    fn contains(&mut self, key: &str) -> bool {
        self.run(&format!("EXISTS {key}")) == ":1\r\n"
    }

    /// Returns a field of INFO.
    fn info(&mut self, name: &str) -> u64 {
        let info = self.run("INFO");
        let field = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        field.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} in {info}"))
    }
}

fn run(client: &mut Client, line: &str) -> String {
    String::from_utf8(client.run(line.split(' ')).expect("a reply")).expect("text")
}

fn text(len: usize) -> String {
    "v".repeat(len)
}
