//! The end of a server in a forked process.

use crate::client::get;
use xtasking::Runtime;
use xtasking_inspect::{ServeError, Server, serve};
use xtasking_testing::holds_in_child;

fn served() -> (Runtime, Server) {
    let rt = Runtime::builder().workers(1).inspection(true).build().unwrap();
    let server = serve(&rt, "127.0.0.1:0").unwrap();
    (rt, server)
}

#[test]
fn a_forked_process_does_not_wait_for_threads_that_it_lacks() {
    let (rt, server) = served();
    // A page is open: the recording has a thread, too.
    assert_eq!(get(&server, "/data").status, 200);
    let mut kept = Some((rt, server));
    assert!(holds_in_child(|| {
        let (rt, server) = kept.take().unwrap();
        let refused = matches!(server.show(&rt), Err(ServeError::Forked));
        drop(server);
        refused
    }));
    // The parent's goes on.
    let (rt, server) = kept.unwrap();
    assert_eq!(get(&server, "/data").status, 200);
    server.show(&rt).unwrap();
}
