//! How to await tasks from an async executor: requests that arrive in tokio update a shared object
//! through the runtime. A task's handle is a future, so no thread blocks.
//!
//! `cargo run --release -p xtasking-examples --example await_from_tokio`

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use xtasking::{JoinError, Object, Plain, Runtime, RuntimeHandle};

/// The state that a server shares between its requests. Clones refer to the same runtime and the
/// same object.
#[derive(Clone)]
struct Shop {
    rt: RuntimeHandle,
    stock: Object<Plain<BTreeMap<&'static str, u32>>>,
}

impl Shop {
    /// Takes some pieces of an item from the stock. Returns false, without taking any, if there are
    /// too few.
    async fn order(&self, item: &'static str, pieces: u32) -> Result<bool, JoinError> {
        let order = self.rt.task(self.stock.write()).submit(move |stock, _cx| match stock.get_mut(item) {
            Some(left) if *left >= pieces => {
                *left -= pieces;
                true
            }
            _ => false,
        });
        // While the task is pending or running, the executor's thread does something else. Dropping
        // the handle would detach the task.
        order.await
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Create the runtime outside of the executor: dropping it waits for its tasks, which an async
    // function must not do.
    let rt = Runtime::builder().workers(2).build()?;
    let stock = rt.plain(BTreeMap::from([("screws", 1000), ("hammers", 3)])).build();
    serve(Shop { rt: rt.handle(), stock })
}

#[tokio::main(worker_threads = 2)]
async fn serve(shop: Shop) -> Result<(), Box<dyn Error>> {
    // Each request is a task of the executor. There are screws for 100 of them.
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

    // Several handles can be awaited at once.
    let (few, many, none) =
        tokio::join!(shop.order("hammers", 2), shop.order("hammers", 2), shop.order("anvils", 1));
    assert_eq!(u32::from(few?) + u32::from(many?), 1, "there are only three hammers");
    assert!(!none?);

    println!("{served} of 150 orders were served");
    Ok(())
}
