//! How a service of tower uses the runtime: each request is a task on an object. Layers of tower
//! bound the requests under way, and how long each may take; a request that is given up drops its
//! future.
//!
//! `cargo run --release -p xtasking-examples --features web --example tower_service`

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::error::Error;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Service, ServiceBuilder, ServiceExt};
use xtasking::{Handle, JoinError, Object, Plain, Runtime, RuntimeHandle};

/// Counts words: a request adds one to the count of its word, and returns it.
#[derive(Clone)]
struct Counts {
    rt: RuntimeHandle,
    words: Object<Plain<HashMap<String, u64>>>,
}

impl Service<String> for Counts {
    type Response = u64;
    type Error = JoinError;
    /// The handle of a task is a future, so no box and no thread is needed.
    type Future = Handle<u64>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), JoinError>> {
        // Tasks queue at the object; a layer bounds how many.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, word: String) -> Handle<u64> {
        self.rt.task(self.words.write()).submit(move |words, _cx| {
            let count = words.entry(word).or_default();
            *count += 1;
            *count
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let rt = Runtime::builder().workers(2).build()?;
    let counts = Counts { rt: rt.handle(), words: rt.plain(HashMap::new()).build() };
    serve(counts)
}

#[tokio::main(worker_threads = 2)]
async fn serve(counts: Counts) -> Result<(), Box<dyn Error>> {
    let service =
        ServiceBuilder::new().concurrency_limit(100).timeout(Duration::from_secs(60)).service(counts);
    let text = "the quick brown fox and the lazy dog and the cat";
    let requests = text.split(' ').cycle().take(1100).map(|word| {
        let service = service.clone();
        tokio::spawn(service.oneshot(word.to_string()))
    });
    let mut most = 0;
    for request in requests.collect::<Vec<_>>() {
        most = most.max(request.await?.map_err(|error| error.to_string())?);
    }
    assert_eq!(most, 300);
    println!("the most frequent word came {most} times");
    Ok(())
}
