//! What the server answers, and to which requests; that it ends, and what it costs when it is not
//! asked.

use crate::client::{Answer, ask, get, json, send};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;
use xtasking::Runtime;
use xtasking_inspect::{Builder, ServeError, Server, serve};
use xtasking_testing::watchdog;

fn served() -> (Runtime, Server) {
    let rt = Runtime::builder().workers(2).inspection(true).build().unwrap();
    let server = serve(&rt, "127.0.0.1:0").unwrap();
    (rt, server)
}

#[test]
fn the_page_is_one_file_with_a_policy() {
    let (_rt, server) = served();
    let Answer { status, head, body } = get(&server, "/");
    assert!(status == 200 && head.contains("text/html; charset=utf-8"), "{head}");
    let nonce = head.split("script-src 'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(nonce.len() == 32 && body.contains(&format!("<script nonce=\"{nonce}\">")), "{nonce}");
    assert!(head.contains("default-src 'none'") && !head.contains("unsafe-inline"));
    assert!(!body.contains("NONCE") && !body.contains("innerHTML"));
    // It names no other machine.
    for part in body.split("http").skip(1) {
        assert!(part.starts_with("://www.w3.org/2000/svg\""), "{}", &part[..40.min(part.len())]);
    }
    // The number in the policy is another one each time.
    assert!(!get(&server, "/").body.contains(nonce));
}

#[test]
fn requests_that_are_not_meant_are_refused() {
    let (_rt, server) = served();
    for (request, status) in [
        ("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        ("GET /../Cargo.toml HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 405),
        ("OPTIONS /data HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        ("GET / HTTP/1.1\r\n\r\n", 403),
        ("GET /data HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 403),
        ("GET /data HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
        ("GET /timeline?seconds=2 HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
        (
            "GET /data HTTP/1.1\r\nHost: localhost\r\nXTasking-Page: 1\r\nSec-Fetch-Site: cross-site\r\n\r\n",
            403,
        ),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403),
        ("GET /timeline?seconds=2 HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-site\r\n\r\n", 403),
        ("GET /timeline HTTP/1.1\r\nHost: localhost\r\nXTasking-Page: 1\r\n\r\n", 400),
        ("GET /timeline?seconds=NaN HTTP/1.1\r\nHost: localhost\r\nXTasking-Page: 1\r\n\r\n", 400),
        ("GET /timeline?seconds=1e9 HTTP/1.1\r\nHost: localhost\r\nXTasking-Page: 1\r\n\r\n", 400),
        ("no request\r\n\r\n", 400),
    ] {
        assert_eq!(ask(&server, request).status, status, "{request}");
    }
    // A scraper sends no header of the page.
    let metrics = ask(&server, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(metrics.status == 200 && metrics.head.contains("Cross-Origin-Resource-Policy: same-origin"));
    assert!(ask(&server, "PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n").head.contains("Allow: GET"));
}

#[test]
fn a_named_host_is_answered() {
    let rt = Runtime::builder().workers(1).inspection(true).build().unwrap();
    let server = Builder::new().host("bank.internal.:80").serve(&rt, "127.0.0.1:0").unwrap();
    let status = |host| ask(&server, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).status;
    assert_eq!(
        (status("bank.internal:80"), status("127.0.0.1:1"), status("other.internal")),
        (200, 200, 403)
    );
}

#[test]
fn heads_are_bounded() {
    let (_rt, server) = served();
    // Whatever is not read is not kept: the server answers before all of it is sent.
    let mut stream = send(&server, "GET / HTTP/1.1\r\nHost: localhost\r\n");
    let line = format!("X: {}\r\n", "y".repeat(1000));
    let mut lines = 0;
    while lines < 100_000 && stream.write_all(line.as_bytes()).is_ok() {
        lines += 1;
    }
    assert!(lines < 100_000, "the server goes on reading");
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(200));
    assert_eq!(ask(&server, &many).status, 431);
}

#[test]
fn clients_that_say_nothing_are_few_and_do_not_hold_up_the_end() {
    let (_rt, server) = served();
    let silent: Vec<_> = (0..100).map(|_| send(&server, "GET / HT")).collect();
    // Connections are accepted in order. Those beyond a number are answered at once, while the
    // first ones still have time.
    let answer = |mut stream: &TcpStream| {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    };
    let last = answer(&silent[99]);
    assert!(last.starts_with("HTTP/1.1 503") && last.contains("try again"), "{last}");
    let address = server.address();
    drop(server);
    // All have been closed, and so has the listener.
    let (open, answered): (Vec<_>, Vec<_>) =
        silent[..99].iter().map(answer).partition(|answer| answer.is_empty());
    assert!(open.len() <= 16, "{} connections were open", open.len());
    let is_refused =
        |answer: &String| answer.starts_with("HTTP/1.1 503") || answer.starts_with("HTTP/1.1 408");
    assert!(answered.iter().all(is_refused), "{answered:?}");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn the_end_does_not_wait_for_a_timeline() {
    let (rt, server) = served();
    let inspector = rt.inspector().unwrap();
    let mut stream =
        send(&server, "GET /timeline?seconds=30 HTTP/1.1\r\nHost: localhost\r\nXTasking-Page: 1\r\n\r\n");
    while !inspector.snapshot().unwrap().is_recording {
        thread::yield_now();
    }
    // One at a time.
    assert_eq!(get(&server, "/timeline?seconds=0.1").status, 503);
    drop(server);
    // It is not a timeline of a shorter time.
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn the_runtime_may_end_first() {
    let (rt, server) = served();
    assert_eq!(get(&server, "/data").status, 200);
    drop(rt);
    // What was seen last is served until the next look.
    while get(&server, "/data").status == 200 {}
    for path in ["/data", "/metrics", "/timeline?seconds=0.1"] {
        let Answer { status, body, .. } = get(&server, path);
        assert!(status == 503 && body.contains("There is no runtime now."), "{path}: {body}");
    }
    assert_eq!(get(&server, "/").status, 200);
}

#[test]
fn another_runtime_is_shown() {
    let _watched = watchdog();
    let server = Builder::new().name("turns").listen("127.0.0.1:0").unwrap();
    assert_eq!(
        (get(&server, "/").status, get(&server, "/data").status, get(&server, "/metrics").status),
        (200, 503, 503)
    );
    let runtime = |workers| Runtime::builder().workers(workers).inspection(true).build().unwrap();
    let first = runtime(1);
    server.show(&first).unwrap();
    let data = json(&get(&server, "/data"));
    assert!(data["name"] == "turns" && data["totals"]["workers"] == 1);
    let second = runtime(2);
    server.show(&second).unwrap();
    assert_eq!(json(&get(&server, "/data"))["totals"]["workers"], 2);
    let is_recording = |rt: &Runtime| rt.inspector().unwrap().snapshot().unwrap().is_recording;
    // A recording ends some seconds after the last request, which may be before the look at it.
    while !is_recording(&second) {
        get(&server, "/data");
    }
    assert!(!is_recording(&first));
    assert!(server.show(&Runtime::builder().workers(1).build().unwrap()).is_err());
    drop(server);
    assert!(!is_recording(&second));
}

#[test]
fn it_records_only_while_it_is_asked() {
    let _watched = watchdog();
    let (rt, server) = served();
    let inspector = rt.inspector().unwrap();
    let is_recording = || inspector.snapshot().unwrap().is_recording;
    assert_eq!(get(&server, "/").status, 200);
    assert!(!is_recording(), "the page itself is only text");
    // A recording ends some seconds after the last request, which may be before the look at it.
    while !is_recording() {
        assert_eq!(json(&get(&server, "/data"))["totals"]["workers"], 2);
    }
    // No further request: the recording ends by itself.
    while is_recording() {
        thread::sleep(Duration::from_millis(20));
    }
    while !is_recording() {
        assert_eq!(get(&server, "/metrics").status, 200);
    }
    drop(server);
    assert!(!is_recording());
}

#[test]
fn metrics_need_not_record() {
    let rt = Runtime::builder().workers(1).inspection(true).build().unwrap();
    let server = Builder::new().keep_recording(Duration::ZERO).serve(&rt, "127.0.0.1:0").unwrap();
    assert!(get(&server, "/metrics").body.contains("\nxtasking_recording 0\n"));
    assert!(!rt.inspector().unwrap().snapshot().unwrap().is_recording);
}

#[test]
fn metrics_may_record_for_ever() {
    let rt = Runtime::builder().workers(1).inspection(true).build().unwrap();
    let server = Builder::new().keep_recording(Duration::MAX).serve(&rt, "127.0.0.1:0").unwrap();
    assert!(get(&server, "/metrics").body.contains("\nxtasking_recording 1\n"));
}

#[test]
fn errors_say_what_to_do() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let error = serve(&rt, "127.0.0.1:0").unwrap_err();
    assert!(matches!(error, ServeError::NotInspected) && error.to_string().contains("inspection(true)"));
    let (rt, server) = served();
    let error = serve(&rt, server.address()).unwrap_err();
    assert!(
        matches!(error, ServeError::Listen(_)) && error.to_string().contains("at this address"),
        "{error}"
    );
    assert!(matches!(serve(&rt, "no address"), Err(ServeError::Listen(_))));
}

#[test]
fn a_timeline_is_a_file_for_perfetto() {
    let _watched = watchdog();
    let (rt, server) = served();
    let has_sell = || {
        let answer = get(&server, "/timeline?seconds=0.3");
        let name = "Content-Disposition: attachment; filename=\"served-";
        assert!(answer.head.contains(name), "{}", answer.head);
        let file = json(&answer);
        let events = file["traceEvents"].as_array().unwrap();
        events.iter().any(|event| event["name"] == "sell")
    };
    thread::scope(|scope| {
        // Where the machine is busy, no task may run in the time of one file.
        let reader = scope.spawn(|| while !has_sell() {});
        while !reader.is_finished() {
            rt.task(()).name("sell").submit(|(), _cx| ()).join().unwrap();
        }
    });
}
