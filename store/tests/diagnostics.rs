//! What operators look at: the slow log, the latency monitor, and the times of commands.

use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_store::resp::Requests;
use xtasking_testing::{Setting, on_each};

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

/// Runs commands as a pipeline, and returns the replies with spaces for line ends.
fn run_all(client: &mut Client, lines: &[&str]) -> String {
    let mut requests = Requests::default();
    lines.iter().for_each(|line| requests.push(line.split(' ')));
    let replies = client.run_all(requests).unwrap();
    String::from_utf8(replies).unwrap().replace("\r\n", " ")
}

fn run(client: &mut Client, line: &str) -> String {
    run_all(client, &[line])
}

#[test]
fn the_slow_log_has_requests_without_what_is_secret() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let builder = Engine::builder().shards(4).setting("slowlog-log-slower-than", "-1");
        let engine = builder.clock(|| 7000).build(&rt);
        let mut client = engine.client();
        assert_eq!(run(&mut client, "CLIENT SETNAME me"), "+OK ");
        assert_eq!(run(&mut client, "SLOWLOG LEN"), ":0 ");
        run(&mut client, "CONFIG SET slowlog-log-slower-than 0");
        run(&mut client, "SLOWLOG RESET");
        run(&mut client, "CONFIG SET requirepass secret");
        run(&mut client, "AUTH secret");
        run(&mut client, "HELLO 2 AUTH default secret");
        run(&mut client, "HELLO 2 SETNAME auth AUTH default secret");
        run(&mut client, "CONFIG SET dbfilename requirepass requirepass secret");
        run_all(&mut client, &["MULTI", "SET k 1", "EXEC", "GET k"]);
        run(&mut client, &format!("SADD s {} {}", "x".repeat(130), vec!["y"; 40].join(" ")));
        run(&mut client, "CONFIG SET slowlog-log-slower-than -1");
        assert_eq!(run(&mut client, "SLOWLOG LEN"), ":10 ");
        let shown = run(&mut client, "SLOWLOG GET -1");
        for part in [
            "*4 $6 CONFIG $3 SET $11 requirepass $10 (redacted) $0  $2 me ",
            "*2 $4 AUTH $10 (redacted) ",
            "*5 $5 HELLO $1 2 $4 AUTH $10 (redacted) $10 (redacted) ",
            "*3 $3 SET $1 k $1 1 ",
            "*1 $5 MULTI ",
            "*2 $3 GET $1 k ",
            "*2 $7 SLOWLOG $5 RESET ",
            "... (2 more bytes) ",
            "$23 ... (12 more arguments) ",
        ] {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
        assert!(!shown.contains("EXEC") && !shown.contains("secret"), "{shown}");
        assert!(run(&mut client, "SLOWLOG GET 2").starts_with("*2 *6 :10 :7 :"), "{shown}");
        run(&mut client, "CONFIG SET slowlog-max-len 2");
        run(&mut client, "CONFIG SET slowlog-log-slower-than 0");
        assert_eq!(run(&mut client, "SLOWLOG LEN"), ":2 ");
    });
}

#[test]
fn times_of_commands_are_kept_whatever_runs_beside_them() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let mut client = engine.client();
        run(&mut client, "CONFIG RESETSTAT");
        run_all(&mut client, &["SET k 1", "GET k", "GET k", "KEYS *", "INCR k", "CLIENT ID", "GET k"]);
        run_all(&mut client, &["MULTI", "INCR k", "EXEC"]);
        let shown = run(&mut client, "LATENCY HISTOGRAM");
        for (name, calls) in [("get", 3), ("set", 1), ("keys", 1), ("incr", 2), ("client|id", 1), ("exec", 1)]
        {
            let part = format!("{name} *4 $5 calls :{calls} $14 histogram_usec *");
            assert!(shown.contains(&part), "{part} is not in {shown}");
        }
        let some = run(&mut client, "LATENCY HISTOGRAM nothing CLIENT set");
        assert!(some.starts_with("*4 $9 client|id "), "{some}");
        let info = run(&mut client, "INFO latencystats");
        assert!(info.contains(" latency_percentiles_usec_get:p50="), "{info}");
        assert!(info.contains(",p99.9="), "{info}");
        run(&mut client, "CONFIG SET latency-tracking-info-percentiles 0.0");
        assert!(run(&mut client, "INFO latencystats").contains("_get:p0="));
        assert_eq!(run(&mut client, "CONFIG SET latency-tracking no"), "+OK ");
        run(&mut client, "CONFIG RESETSTAT");
        run_all(&mut client, &["SET k 1", "GET k"]);
        assert_eq!(run(&mut client, "LATENCY HISTOGRAM"), "*0 ");
        assert!(run(&mut client, "INFO commandstats").contains("cmdstat_get:calls=1,usec="));
    });
}

#[test]
fn a_request_that_waited_is_measured_once() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let (mut client, mut other) = (engine.client(), engine.client());
        let waiting = rt.promise();
        let (promise, popped) = waiting;
        engine.submit(&rt, engine.session(""), Requests::one(["BLPOP", "l", "0"]), move |finished, _| {
            promise.fulfil(finished)
        });
        while !run(&mut other, "INFO clients").contains("blocked_clients:1") {}
        assert_eq!(run(&mut client, "LATENCY HISTOGRAM blpop"), "*0 ");
        run(&mut client, "CONFIG SET slowlog-log-slower-than 0");
        run(&mut client, "RPUSH l x");
        engine.close(&rt, popped.join().unwrap().session);
        assert!(run(&mut client, "LATENCY HISTOGRAM blpop").contains("calls :1 "));
        assert!(run(&mut client, "INFO commandstats").contains("cmdstat_blpop:calls=1,"));
        assert!(run(&mut client, "SLOWLOG GET").contains("*3 $5 BLPOP $1 l $1 0 "));
    });
}

#[test]
fn the_latency_monitor_is_off_until_it_is_asked_for() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let mut client = engine.client();
        assert!(run(&mut client, "LATENCY DOCTOR").contains("is off"));
        assert_eq!(run(&mut client, "LATENCY LATEST"), "*0 ");
        assert_eq!(run(&mut client, "LATENCY HISTORY command"), "*0 ");
        assert_eq!(run(&mut client, "LATENCY RESET"), ":0 ");
        assert_eq!(run(&mut client, "LATENCY GRAPH x"), "-ERR No samples available for event 'x' ");
        run(&mut client, "CONFIG SET latency-monitor-threshold 1000000");
        assert!(run(&mut client, "LATENCY DOCTOR").contains("Nothing has taken 1000000 ms"));
    });
}
