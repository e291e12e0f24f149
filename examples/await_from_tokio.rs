//! Handles are futures: requests that come in through an async executor wait for tasks without blocking a thread.
//!
//! `cargo run --release -p xtasking-examples --example await_from_tokio`

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use xtasking::{JoinError, Object, Plain, Runtime};

/// What a server might share between its requests; clones share the same runtime and the same object.
#[derive(Clone)]
struct Shop {
    rt: Arc<Runtime>,
    stock: Object<Plain<BTreeMap<&'static str, u32>>>,
}

impl Shop {
    /// Takes some pieces of an item from the stock, all or none.
    async fn order(&self, item: &'static str, pieces: u32) -> Result<bool, JoinError> {
        let order = self.rt.task(self.stock.write()).submit(move |stock, _cx| match stock.get_mut(item) {
            Some(left) if *left >= pieces => {
                *left -= pieces;
                true
            }
            _ => false,
        });
        // While the task waits and runs, this thread of the executor does something else. Dropping the handle instead
        // would let the task run by itself.
        order.await
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Made outside of the executor: dropping the runtime waits for its tasks, which no async function should do.
    let rt = Arc::new(Runtime::builder().workers(2).build()?);
    let stock = rt.plain(BTreeMap::from([("screws", 1000), ("hammers", 3)])).build();
    serve(Shop { rt: rt.clone(), stock })
}

#[tokio::main(worker_threads = 2)]
async fn serve(shop: Shop) -> Result<(), Box<dyn Error>> {
    // Requests, each a task of the executor. There are screws for 100 of them.
    let requests: Vec<_> = (0..150)
        .map(|_| {
            let shop = shop.clone();
            tokio::spawn(async move { shop.order("screws", 10).await })
        })
        .collect();
    let mut served = 0;
    for request in requests {
        served += u32::from(request.await??);
    }
    assert_eq!(served, 100);

    // Several handles can be waited for at once.
    let (few, many, none) =
        tokio::join!(shop.order("hammers", 2), shop.order("hammers", 2), shop.order("anvils", 1));
    assert_eq!(u32::from(few?) + u32::from(many?), 1, "there are only three hammers");
    assert!(!none?);

    println!("{served} of 150 orders were served");
    Ok(())
}
