//! No object is held across an await: a body is not a future, and a future that it creates cannot
//! keep its views.
//!
//! refused in_body: error[E0728]: `await` is only allowed inside `async` functions and blocks
//! refused spawned: error[E0308]: mismatched types
//! refused block: error: lifetime may not live long enough
//! refused closure: error: future cannot be sent between threads safely
//! refused kept: error[E0521]: borrowed data escapes outside of closure

use std::future::ready;
use std::sync::mpsc::channel;
use xtasking::Runtime;

fn main() {
    let rt = Runtime::new().unwrap();
    let number = rt.plain(1u64).build();

    rt.task(number.write()).spawn(|number, _cx| {
        #[cfg(refused = "in_body")]
        ready(()).await;
        *number += 1;
    });
    // Without the view the future is a result like any other, and runs wherever it is awaited.
    #[cfg(refused = "spawned")]
    rt.task(number.write()).spawn(|_, _cx| async move { ready(()).await });
    let _handle = rt.task(number.write()).submit(|_, _cx| async move { ready(()).await });

    #[cfg(refused = "block")]
    let _handle = rt.task(number.write()).submit(|number, _cx| async move {
        ready(()).await;
        *number
    });
    #[cfg(refused = "closure")]
    let _handle = rt.task(number.write()).submit(async |number, _cx| {
        ready(()).await;
        *number
    });
    let (kept, _all) = channel::<Box<dyn Future<Output = u64> + Send>>();
    rt.task(number.write()).spawn(move |number, _cx| {
        #[cfg(refused = "kept")]
        let future = async move { *number };
        #[cfg(not(refused = "kept"))]
        let future = ready(*number);
        kept.send(Box::new(future)).unwrap();
    });
}
