//! MONITOR: what it shows, to which sessions, and until when.

use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_store::resp::Requests;
use xtasking_testing::{Setting, on_each};

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

fn run(client: &mut Client, line: &str) -> String {
    let reply = client.run(line.split(' ')).unwrap();
    String::from_utf8(reply).unwrap().replace("\r\n", " ")
}

/// The requests that have arrived, without their times.
fn seen(client: &mut Client) -> Vec<String> {
    let lines = String::from_utf8(client.take_messages()).unwrap();
    lines.lines().map(|line| line.strip_prefix("+7.000000 ").unwrap_or(line).to_owned()).collect()
}

#[test]
fn requests_are_shown_in_order_without_secrets() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).clock(|| 7000).build(&rt);
        let (mut monitor, mut client) = (engine.client(), engine.client());
        run(&mut client, "SET before 1");
        assert_eq!(run(&mut monitor, "MONITOR"), "+OK ");
        assert_eq!(run(&mut monitor, "MONITOR"), "", "it follows already");
        for line in [
            "SET k \"1\n",
            "GET k",
            "SELECT 3",
            "GET",
            "CONFIG GET save",
            "AUTH secret",
            "HELLO AUTH me secret",
        ] {
            run(&mut client, line);
        }
        let expected = [
            "[0 ] \"SET\" \"k\" \"\\\"1\\n\"",
            "[0 ] \"GET\" \"k\"",
            "[3 ] \"SELECT\" \"3\"",
            "[3 ] \"AUTH\" \"(redacted)\"",
            "[3 ] \"HELLO\" \"AUTH\" \"(redacted)\" \"(redacted)\"",
        ];
        assert_eq!(seen(&mut monitor), expected);
        for line in [
            "HELLO 3 SETNAME auth AUTH user hidden",
            "HELLO 2 SETNAME AUTH user hidden",
            "HELLO SETNAME auth AUTH user hidden",
        ] {
            run(&mut client, line);
        }
        let lines = seen(&mut monitor);
        assert!(lines.len() == 3 && lines.iter().all(|line| !line.contains("hidden")), "{lines:?}");
        for line in ["MULTI", "INCR n", "GET n"] {
            run(&mut client, line);
        }
        assert_eq!(seen(&mut monitor), ["[3 ] \"MULTI\""]);
        run(&mut client, "EXEC");
        assert_eq!(seen(&mut monitor), ["[3 ] \"INCR\" \"n\"", "[3 ] \"GET\" \"n\"", "[3 ] \"EXEC\""]);
        assert!(run(&mut client, "CLIENT LIST").contains(" flags=O "));
        for line in ["MULTI", "BLPOP none 0", "EXEC"] {
            run(&mut client, line);
        }
        let expected = ["[3 ] \"MULTI\"", "[3 ] \"BLPOP\" \"none\" \"0\"", "[3 ] \"EXEC\""];
        assert_eq!(seen(&mut monitor), expected);
        for line in ["MULTI", "MONITOR"] {
            run(&mut client, line);
        }
        let refused = run(&mut client, "EXEC");
        assert_eq!(refused, "*1 -ERR MONITOR isn't allowed for DENY BLOCKING client ");
    });
}

#[test]
fn nothing_is_shown_after_the_end() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let (mut monitor, mut client) = (engine.client(), engine.client());
        run(&mut monitor, "MONITOR");
        let other = {
            let mut other = engine.client();
            run(&mut other, "MONITOR");
            run(&mut client, "GET k");
            assert_eq!(seen(&mut other).len(), 1);
            other
        };
        drop(other);
        run(&mut client, "GET k");
        assert_eq!(seen(&mut monitor).len(), 2);
        run(&mut client, "GET k");
        let last = run(&mut monitor, "RESET");
        assert!(last.contains("GET") && last.ends_with("+RESET "), "{last}");
        run(&mut client, "GET k");
        assert!(seen(&mut monitor).is_empty());
    });
}

#[test]
fn a_wait_is_shown_when_it_ends_without_a_key() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).clock(|| 7000).build(&rt);
        let (mut monitor, mut client) = (engine.client(), engine.client());
        run(&mut monitor, "MONITOR");
        let session = engine.session("");
        let id = session.id();
        let (promise, handle) = rt.promise();
        let requests = Requests::one(["BLPOP", "none", "0"]);
        engine.submit(&rt, session, requests, move |finished, _| promise.fulfil(finished));
        while !run(&mut client, "INFO clients").contains("blocked_clients:1 ") {}
        assert!(seen(&mut monitor).iter().all(|line| !line.contains("BLPOP")));
        assert_eq!(run(&mut client, &format!("CLIENT UNBLOCK {id}")), ":1 ");
        engine.close(&rt, handle.join().unwrap().session);
        assert!(seen(&mut monitor).contains(&"[0 ] \"BLPOP\" \"none\" \"0\"".to_owned()));
    });
}
