//! Channels: messages, their order, and what a session that listens may run.

use std::sync::{Arc, Mutex};
use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_testing::{Setting, on_each};

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

/// Runs a command, and returns its reply with spaces for line ends.
fn run(client: &mut Client, line: &str) -> String {
    shown(&client.run(line.split(' ')).unwrap())
}

fn messages(client: &mut Client) -> String {
    shown(&client.take_messages())
}

fn shown(bytes: &[u8]) -> String {
    let lines = String::from_utf8_lossy(bytes);
    let is_length = |word: &str| word.strip_prefix('$').is_some_and(|rest| rest.parse::<i64>().is_ok());
    let words = lines.split("\r\n").filter(|word| !word.is_empty() && !is_length(word));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn messages_come_in_order_to_all_that_listen() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        let engine =
            Engine::builder().shards(4).on_message(move |id| tell.lock().unwrap().push(id)).build(&rt);
        let (mut one, mut two, mut other) = (engine.client(), engine.client(), engine.client());
        assert_eq!(run(&mut one, "SUBSCRIBE a b a"), "*3 subscribe a :1 *3 subscribe b :2 *3 subscribe a :2");
        assert_eq!(run(&mut two, "PSUBSCRIBE a* ?"), "*3 psubscribe a* :1 *3 psubscribe ? :2");
        assert_eq!(run(&mut other, "PUBLISH a 1"), ":3");
        assert_eq!(run(&mut other, "PUBLISH b 2"), ":2");
        assert_eq!(run(&mut other, "PUBLISH nothing 3"), ":0");
        // Each is told once until it takes what has come.
        assert_eq!(*told.lock().unwrap(), [one.id().unwrap(), two.id().unwrap()]);
        assert_eq!(messages(&mut one), "*3 message a 1 *3 message b 2");
        let both = "*4 pmessage ? a 1 *4 pmessage a* a 1 *4 pmessage ? b 2";
        assert_eq!(messages(&mut two), both);
        assert_eq!(run(&mut other, "PUBSUB NUMSUB a nothing"), "*4 a :1 nothing :0");
        let mut third = engine.client();
        assert!(run(&mut third, "HELLO 3").starts_with("%7 "));
        assert_eq!(run(&mut third, "PUBSUB NUMSUB a nothing"), "*4 a :1 nothing :0");
        assert_eq!(run(&mut other, "PUBSUB CHANNELS"), "*2 a b");
        assert_eq!(run(&mut other, "PUBSUB NUMPAT"), ":2");
        let listed = run(&mut other, "CLIENT LIST TYPE pubsub");
        assert_eq!(listed.matches(" flags=P ").count(), 2, "{listed}");
        assert!(listed.contains(" sub=2 psub=0 ") && listed.contains(" sub=0 psub=2 "), "{listed}");
        assert!(!run(&mut other, "CLIENT LIST TYPE normal").contains(" flags=P "));
        drop(one);
        assert_eq!(run(&mut other, "PUBSUB CHANNELS"), "*0");
    });
}

#[test]
fn nothing_comes_after_the_end_of_listening() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let (mut client, mut other) = (engine.client(), engine.client());
        run(&mut client, "SUBSCRIBE a");
        run(&mut other, "PUBLISH a 1");
        assert_eq!(run(&mut client, "UNSUBSCRIBE"), "*3 message a 1 *3 unsubscribe a :0");
        assert_eq!(messages(&mut client), "");
        assert_eq!(run(&mut other, "PUBLISH a 2"), ":0");
        run(&mut client, "PSUBSCRIBE a");
        run(&mut other, "PUBLISH a 1");
        assert_eq!(run(&mut client, "RESET"), "*4 pmessage a a 1 +RESET");
        assert_eq!(messages(&mut client), "");
        assert_eq!(run(&mut other, "PUBLISH a 2"), ":0");
    });
}

#[test]
fn messages_of_others_are_not_within_a_transaction() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let (mut client, mut other) = (engine.client(), engine.client());
        run(&mut client, "HELLO 3");
        run(&mut client, "SUBSCRIBE a");
        for line in ["MULTI", "UNSUBSCRIBE a"] {
            run(&mut client, line);
        }
        run(&mut other, "PUBLISH a x");
        assert_eq!(run(&mut client, "EXEC"), ">3 message a x *1 >3 unsubscribe a :0");
    });
}

#[test]
fn a_session_that_listens_runs_little_else() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let mut client = engine.client();
        run(&mut client, "SUBSCRIBE a");
        let refused = run(&mut client, "GET k");
        assert!(refused.starts_with("-ERR Can't execute 'get': only (P|S)SUBSCRIBE"), "{refused}");
        assert_eq!(run(&mut client, "PING x"), "*2 pong x");
        run(&mut client, "UNSUBSCRIBE a");
        assert_eq!(run(&mut client, "PING"), "+PONG");
        // In version 3 messages are told apart, so all commands are allowed.
        run(&mut client, "HELLO 3");
        assert_eq!(run(&mut client, "SUBSCRIBE a"), ">3 subscribe a :1");
        assert_eq!(run(&mut client, "PUBLISH a 1"), ">3 message a 1 :1");
        // A client that wants no replies wants messages.
        run(&mut client, "CLIENT REPLY OFF");
        assert_eq!(run(&mut client, "SUBSCRIBE b"), ">3 subscribe b :2");
        assert_eq!(run(&mut client, "PING"), "");
    });
}

#[test]
fn keyspace_events_are_messages() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let (mut client, mut other) = (engine.client(), engine.client());
        run(&mut client, "PSUBSCRIBE __key*");
        run(&mut other, "SET k 1");
        assert_eq!(messages(&mut client), "");
        assert_eq!(run(&mut other, "CONFIG SET notify-keyspace-events KE$"), "+OK");
        assert_eq!(run(&mut other, "CONFIG GET notify-keyspace-events"), "*2 notify-keyspace-events $KE");
        for line in ["SET k 1", "DEL k", "SELECT 3", "APPEND k x"] {
            run(&mut other, line);
        }
        let expected = [
            "*4 pmessage __key* __keyspace@0__:k set *4 pmessage __key* __keyevent@0__:set k",
            "*4 pmessage __key* __keyspace@3__:k append *4 pmessage __key* __keyevent@3__:append k",
        ];
        assert_eq!(messages(&mut client), expected.join(" "));
    });
}

#[test]
fn an_own_message_comes_before_the_reply_but_not_into_a_transaction() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let mut client = engine.client();
        run(&mut client, "HELLO 3");
        run(&mut client, "SUBSCRIBE a");
        assert_eq!(run(&mut client, "PUBLISH a 1"), ">3 message a 1 :1");
        for line in ["MULTI", "PUBLISH a 2", "PING"] {
            run(&mut client, line);
        }
        assert_eq!(run(&mut client, "EXEC"), "*2 :1 +PONG");
        assert_eq!(messages(&mut client), ">3 message a 2");
    });
}

#[test]
fn new_keys_have_events_if_these_are_wanted() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let (mut listener, mut client) = (engine.client(), engine.client());
        run(&mut listener, "PSUBSCRIBE *");
        let mut events = |line: &str| {
            run(&mut client, line);
            let heard = messages(&mut listener);
            let words = heard.split(' ').collect::<Vec<_>>();
            let named = words.chunks(5).filter_map(|words| words.get(3)?.split(':').nth(1));
            named.map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        events("CONFIG SET notify-keyspace-events EnA");
        assert_eq!(events("SET a 1"), "new set");
        assert_eq!(events("SET a 2"), "set");
        assert_eq!(events("MSET a 1 b 2"), "set new set");
        assert_eq!(events("LPUSH l 1 2"), "new lpush");
        assert_eq!(events("RENAME a c"), "new rename_from rename_to");
        assert_eq!(events("COPY b d"), "new copy_to");
        assert_eq!(events("MOVE d 1"), "move_from new move_to");
        assert_eq!(events("SINTERSTORE s none"), "");
        assert_eq!(events("XGROUP CREATE t g 0 MKSTREAM"), "new xgroup-create");
        assert_eq!(events("XGROUP CREATE t h 0 MKSTREAM"), "xgroup-create");
        for line in ["MULTI", "XGROUP CREATE u g 0 MKSTREAM", "SELECT 3", "SET k 1"] {
            assert_eq!(events(line), "");
        }
        assert_eq!(events("EXEC"), "new xgroup-create new set");
        events("SELECT 0");
        assert_eq!(events("CONFIG SET notify-keyspace-events EA"), "");
        assert_eq!(events("SET e 1"), "set");
    });
}

#[test]
fn missing_keys_have_events_if_these_are_wanted() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let (mut listener, mut client) = (engine.client(), engine.client());
        run(&mut listener, "PSUBSCRIBE __keyevent*");
        run(&mut client, "CONFIG SET notify-keyspace-events EAm");
        assert_eq!(run(&mut client, "CONFIG GET notify-keyspace-events"), "*2 notify-keyspace-events AEm");
        run(&mut client, "RPUSH l 1");
        messages(&mut listener);
        let mut events = |line: &str| {
            run(&mut client, line);
            messages(&mut listener).replace("*4 pmessage __key* ", "").replace("__keyevent@0__:", "")
        };
        for (line, expected) in [
            ("GET a", "keymiss a"),
            ("EXISTS a l b", "keymiss a keymiss b"),
            ("TTL a", "keymiss a"),
            ("HGET a f", "keymiss a"),
            ("SMEMBERS a", "keymiss a"),
            ("GETSET a 1", "keymiss a set a"),
            ("SET b 1 GET", "keymiss b set b"),
            ("SUNIONSTORE d c e", "keymiss c keymiss e"),
            ("COPY c d", "keymiss c"),
            ("SORT l BY w_*", "keymiss w_1"),
            ("GET a", ""),
            ("LPOP c", ""),
            ("DEL c", ""),
            ("OBJECT ENCODING c", ""),
            ("APPEND c x", "append c"),
        ] {
            let expected =
                expected.replace("keymiss", "__keyevent* keymiss").replace(" set", " __keyevent* set");
            let heard = events(line).replace("*4 pmessage ", "");
            assert_eq!(heard, expected.replace("append", "__keyevent* append"), "{line}");
        }
        events("CONFIG SET notify-keyspace-events EA");
        assert_eq!(events("GET nothing"), "");
    });
}
