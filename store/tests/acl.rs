//! Users and their rights: what a change does to those that are there, and where users come from.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::{Builder, Client};
use xtasking_store::log::OpenError;
use xtasking_store::net::Service;
use xtasking_store::resp::Requests;
use xtasking_testing::{Setting, eventually, on_each, side_by_side, watchdog};

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

/// Runs a test in each of these settings, on an engine of its own. It also gets a session of the
/// default user, and the connections that the engine has closed.
fn on_engines(settings: impl Iterator<Item = Setting>, test: impl Fn(&Engine, Client, &Mutex<Vec<u64>>)) {
    on_each(settings, |setting| {
        let rt = setting.build();
        let closed = Arc::new(Mutex::new(Vec::new()));
        let seen = closed.clone();
        let engine = Engine::builder().shards(4).on_close(move |id| seen.lock().unwrap().push(id)).build(&rt);
        test(&engine, engine.client(), &closed);
    });
}

/// Runs a command, and returns its reply with spaces for line ends.
fn run(client: &mut Client, line: &str) -> String {
    shown(&client.run(line.split(' ')).unwrap())
}

fn shown(bytes: &[u8]) -> String {
    let lines = String::from_utf8_lossy(bytes);
    let is_length = |word: &str| word.strip_prefix('$').is_some_and(|rest| rest.parse::<u64>().is_ok());
    let words = lines.split("\r\n").filter(|word| !word.is_empty() && !is_length(word));
    words.collect::<Vec<_>>().join(" ")
}

/// Opens a session of a user.
fn client_of(engine: &Engine, user: &str) -> Client {
    let mut client = engine.client();
    assert_eq!(run(&mut client, &format!("AUTH {user} x")), "+OK");
    client
}

const NO_COMMAND: &str = "-NOPERM this user has no permissions to run";
const NO_KEY: &str = "-NOPERM this user has no permissions to access one of the keys used as arguments";
const CHANGED: &str = "-NOPERM ACLs rules changed between the moment the transaction was accumulated";

/// The values of a field in INFO.
fn field(client: &mut Client, name: &str) -> String {
    let info = String::from_utf8(client.run(["INFO", "stats"]).unwrap()).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
    line.unwrap_or_else(|| panic!("{name} is not in {info}"))
}

#[test]
fn new_rights_hold_at_once() {
    on_engines(settings(), |engine, mut root, _| {
        run(&mut root, "ACL SETUSER u on nopass ~* &* +@all");
        let mut client = client_of(engine, "u");
        assert_eq!(run(&mut client, "SET a 1"), "+OK");
        run(&mut root, "ACL SETUSER u -set resetkeys ~b*");
        assert_eq!(run(&mut client, "SET b 1"), format!("{NO_COMMAND} the 'set' command"));
        assert_eq!(run(&mut client, "GET a"), NO_KEY);
        assert_eq!(run(&mut client, "GET b"), "$-1");
        run(&mut root, "ACL SETUSER u ~a");
        assert_eq!(run(&mut client, "GET a"), "1");
        run(&mut root, "ACL SETUSER u allkeys +set");
        assert_eq!(run(&mut client, "SET b 1"), "+OK");
        // In one pipeline the rights of the user that is logged in hold.
        let mut requests = Requests::one(["AUTH", "default", "x"]);
        run(&mut root, "ACL SETUSER u -@all");
        requests.push(["GET", "b"]);
        requests.push(["AUTH", "u", "x"]);
        requests.push(["GET", "b"]);
        let replies = shown(&client.run_all(requests).unwrap());
        assert_eq!(replies, format!("+OK 1 +OK {NO_COMMAND} the 'get' command"));
        assert_eq!(field(&mut root, "acl_access_denied_cmd"), "2");
        assert_eq!(field(&mut root, "acl_access_denied_key"), "1");
        assert!(run(&mut client, "CLIENT INFO").starts_with(NO_COMMAND));
        assert!(run(&mut root, "CLIENT LIST").contains(" user=u "));
    });
}

#[test]
fn exec_checks_what_was_queued() {
    on_engines(settings(), |engine, mut root, _| {
        run(&mut root, "ACL SETUSER u on nopass ~* resetchannels &c +@all");
        let mut client = client_of(engine, "u");
        for line in ["MULTI", "INCR n", "GET n", "PUBLISH c x", "SET m 1"] {
            run(&mut client, line);
        }
        run(&mut root, "ACL SETUSER u -incr resetchannels resetkeys ~n");
        let replies = run(&mut client, "EXEC");
        assert!(replies.starts_with(&format!("*4 {CHANGED}")), "{replies}");
        assert_eq!(replies.matches(CHANGED).count(), 3, "{replies}");
        for reason in [
            "following reason: no permission to execute the command or subcommand $-1",
            "following reason: no permission to access one of the channels used as arguments",
            "following reason: no permission to touch the specified keys",
        ] {
            assert!(replies.contains(reason), "{replies}");
        }
        assert_eq!(run(&mut root, "EXISTS n m"), ":0");
        let log = run(&mut root, "ACL LOG");
        assert!(log.contains("reason key context multi object m username u "), "{log}");
        assert!(log.contains("reason command context multi object incr username u "), "{log}");
    });
}

#[test]
fn what_waits_is_checked_again_when_it_is_served() {
    on_engines(Setting::threads(), |engine, mut root, _| {
        run(&mut root, "ACL SETUSER u on nopass ~* +@all");
        let mut client = client_of(engine, "u");
        let waiter = std::thread::spawn(move || run(&mut client, "BLPOP list 0"));
        eventually("the session waits", || run(&mut root, "INFO clients").contains("blocked_clients:1"));
        run(&mut root, "ACL SETUSER u resetkeys");
        assert_eq!(run(&mut root, "RPUSH list x"), ":1");
        assert_eq!(waiter.join().unwrap(), NO_KEY);
        assert_eq!(run(&mut root, "LRANGE list 0 -1"), "*1 x");
    });
}

#[test]
fn a_removed_user_has_no_rights_and_no_connections() {
    on_engines(settings(), |engine, mut root, closed| {
        run(&mut root, "ACL SETUSER u on nopass ~* &* +@all");
        run(&mut root, "ACL SETUSER v on nopass ~* &* +@all");
        let (mut first, mut other) = (client_of(engine, "u"), client_of(engine, "v"));
        assert_eq!(run(&mut root, "ACL DELUSER u none"), ":1");
        assert_eq!(*closed.lock().unwrap(), [first.id().unwrap()]);
        assert_eq!(run(&mut first, "GET a"), format!("{NO_COMMAND} the 'get' command"));
        assert_eq!(run(&mut other, "GET a"), "$-1");
        // The own connection ends after the reply.
        assert_eq!(run(&mut other, "ACL DELUSER v"), ":1");
        assert!(other.session().unwrap().is_closing);
        assert!(run(&mut root, "AUTH u x").starts_with("-WRONGPASS"));
        assert_eq!(field(&mut root, "acl_access_denied_auth"), "1");
    });
}

#[test]
fn listeners_end_with_their_channels() {
    on_engines(settings(), |engine, mut root, closed| {
        run(&mut root, "ACL SETUSER u on nopass resetchannels &a* &b +@all");
        let mut all: Vec<Client> = (0..4).map(|_| client_of(engine, "u")).collect();
        let listening = ["SUBSCRIBE ab", "PSUBSCRIBE a*", "SUBSCRIBE b", "PING"];
        for (client, line) in all.iter_mut().zip(listening) {
            assert!(!run(client, line).starts_with('-'), "{line}");
        }
        run(&mut root, "ACL SETUSER u resetchannels &a* &b &c");
        run(&mut root, "ACL SETUSER u allchannels");
        assert!(closed.lock().unwrap().is_empty());
        run(&mut root, "ACL SETUSER u resetchannels &ab &b");
        assert_eq!(*closed.lock().unwrap(), [all[1].id().unwrap()], "the pattern is not there as it is");
        run(&mut root, "ACL SETUSER u resetchannels");
        let mut closed = closed.lock().unwrap().clone();
        closed.sort_unstable();
        closed.dedup();
        assert_eq!(closed, all[..3].iter().map(|client| client.id().unwrap()).collect::<Vec<_>>());
    });
}

/// A session that begins to listen while its channels are taken away is refused, or ended.
#[test]
fn no_listener_escapes_the_loss_of_its_channels() {
    on_engines(Setting::threads(), |engine, mut root, _| {
        for _ in 0..300 {
            run(&mut root, "ACL SETUSER u reset on nopass allchannels +@all");
            let mut client = client_of(engine, "u");
            let (own, other) = (&mut client, &mut root);
            let jobs: [Box<dyn FnOnce() -> String + Send>; 2] = [
                Box::new(move || run(other, "ACL SETUSER u resetchannels")),
                Box::new(move || run(own, "SUBSCRIBE a")),
            ];
            let replies = side_by_side(jobs);
            let id = client.id().unwrap();
            let is_gone = engine.server().clients.get(id).is_none_or(|info| info.is_gone());
            let is_ended = is_gone || client.session().unwrap().is_closing;
            assert!(replies[1].starts_with("-NOPERM") || is_ended, "it listens on");
        }
    });
}

#[test]
fn denied_requests_are_counted_together() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(4).clock(|| 5000).build(&rt);
    let mut root = engine.client();
    run(&mut root, "ACL SETUSER u on nopass ~a resetchannels +get +publish +multi");
    let mut client = client_of(&engine, "u");
    for line in ["SET a 1", "GET b", "GET b", "PUBLISH c x", "CONFIG GET x", "GET b", "MULTI", "GET b"] {
        run(&mut client, line);
    }
    run(&mut root, "AUTH u");
    run(&mut root, "AUTH nobody x");
    let log = run(&mut root, "ACL LOG");
    let entries: Vec<&str> = log.split("*14 ").collect();
    let entry = |entry: &str| entry.split(" client-info ").next().unwrap().to_owned();
    let expected = [
        "*6 ",
        "count :1 reason auth context toplevel object AUTH username nobody age-seconds 0",
        "count :1 reason key context multi object b username u age-seconds 0",
        "count :3 reason key context toplevel object b username u age-seconds 0",
        "count :1 reason command context toplevel object config|get username u age-seconds 0",
        "count :1 reason channel context toplevel object c username u age-seconds 0",
        "count :1 reason command context toplevel object set username u age-seconds 0",
    ];
    assert_eq!(entries.iter().copied().map(entry).collect::<Vec<_>>(), expected);
    assert!(entries[2].contains(" multi=0 ") && entries[2].contains(" cmd=get user=u "), "{}", entries[2]);
    assert!(run(&mut root, "ACL LOG 2").starts_with("*2 "));
    run(&mut client, &format!("GET {}", "k".repeat(1000)));
    run(&mut root, &format!("AUTH {} x", "n".repeat(1000)));
    let log = run(&mut root, "ACL LOG 2");
    for name in ["k", "n"] {
        let is_there = |length| log.contains(&format!(" {} ", name.repeat(length)));
        assert!(is_there(128) && !is_there(1000), "names are cut: {log}");
    }
    run(&mut root, "CONFIG SET acllog-max-len 3");
    run(&mut client, "GET c");
    assert!(run(&mut root, "ACL LOG").starts_with("*3 "));
    assert_eq!(run(&mut root, "ACL LOG RESET"), "+OK");
    assert_eq!(run(&mut root, "ACL LOG"), "*0");
    assert_eq!(field(&mut root, "acl_access_denied_channel"), "1");
    run(&mut root, "CONFIG RESETSTAT");
    assert_eq!(field(&mut root, "acl_access_denied_channel"), "0");
}

#[test]
fn passwords_are_drawn_and_hidden() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let builder = Engine::builder().shards(1).setting("slowlog-log-slower-than", "0");
    let engine = builder.build(&rt);
    let (mut root, mut monitor) = (engine.client(), engine.client());
    run(&mut monitor, "MONITOR");
    let drawn: Vec<String> = (0..2).map(|_| run(&mut root, "ACL GENPASS")).collect();
    assert!(drawn[0] != drawn[1] && drawn.iter().all(|text| text.len() == 64), "{drawn:?}");
    assert_eq!(run(&mut root, "ACL GENPASS 5").len(), 2);
    run(&mut root, "ACL SETUSER u on >hidden1 <hidden1 >hidden2");
    run(&mut root, "AUTH u hidden2");
    run(&mut root, "AUTH default x");
    for text in
        [run(&mut root, "SLOWLOG GET -1"), shown(&monitor.take_messages()), run(&mut root, "ACL LIST")]
    {
        assert!(!text.contains("hidden"), "{text}");
    }
    assert!(run(&mut root, "SLOWLOG GET -1").contains("ACL SETUSER (redacted) (redacted)"));
}

fn failure(builder: Builder) -> String {
    let rt = Runtime::builder().workers(1).build().unwrap();
    match builder.shards(1).open(&rt) {
        Err(OpenError::Users(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn users_come_from_the_settings() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let builder = Engine::builder().shards(1).user("default on nopass ~* +@all").user("u on (+get '~a b' )");
    assert!(failure(builder).contains("the user 'u'"), "a pattern has no spaces");
    let builder = Engine::builder().shards(1).setting("requirepass", "secret").user("u on >x (+get ~a*)");
    let engine = builder.build(&rt);
    let mut client = engine.client();
    assert_eq!(run(&mut client, "PING"), "-NOAUTH Authentication required.");
    assert_eq!(run(&mut client, "AUTH u x"), "+OK");
    assert_eq!(run(&mut client, "GET ab"), "$-1");
    assert_eq!(run(&mut client, "AUTH secret"), "+OK");
    for line in ["ACL LOAD", "ACL SAVE"] {
        assert!(run(&mut client, line).contains("with the setting aclfile"), "there is no file");
    }
    for (lines, why) in [
        (vec!["u", "u"], "user, line 2: Duplicate user found"),
        (vec!["default on", "default on"], "Duplicate user found"),
        (
            vec!["v on", "u +nothing"],
            "user, line 2: the user 'u' has the rule '+nothing': Unknown command or category name in ACL",
        ),
        (vec!["u >secret on x"], "the user 'u': Syntax error"),
        (vec!["u (+get"], "a selector without an end"),
        (vec![""], "user, line 1: it has no name of a user"),
        (vec!["u 'x"], "user, line 1: it has quotes that are not closed"),
    ] {
        let error = failure(lines.iter().fold(Engine::builder(), |builder, line| builder.user(*line)));
        assert!(error.contains(why) && !error.contains("secret"), "{lines:?}: {error}");
    }
    let both = Engine::builder().setting("aclfile", "users.acl").user("u on");
    assert!(failure(both).contains("choose one of them"));
    assert!(failure(Engine::builder().setting("aclfile", "none.acl")).contains("opening file 'none.acl'"));
}

#[test]
fn users_are_loaded_from_a_file_and_saved() {
    let folder = std::env::temp_dir().join(format!("xtasking-store-acl-{}", std::process::id()));
    // What a killed run of the same number has left.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("users.acl");
    fs::write(&path, "user alice on nopass ~* &* +@all\nuser bob on -@all +@set +acl ~set* >bob\n").unwrap();
    let rt = Runtime::builder().workers(1).build().unwrap();
    let closed = Arc::new(Mutex::new(0));
    let seen = closed.clone();
    let builder = Engine::builder().setting("dir", folder.to_str().unwrap()).setting("aclfile", "users.acl");
    let engine = builder.shards(1).on_close(move |_| *seen.lock().unwrap() += 1).build(&rt);
    let (mut root, mut alice) = (engine.client(), client_of(&engine, "alice"));
    assert_eq!(run(&mut root, "ACL USERS"), "*3 alice bob default");
    run(&mut root, "ACL SETUSER eve on >eve +get allkeys");
    let users = run(&mut root, "ACL LIST");
    assert_eq!(run(&mut root, "ACL SAVE"), "+OK");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
    run(&mut root, "ACL SETUSER mallory on");
    assert_eq!(run(&mut root, "ACL LOAD"), "+OK");
    assert_eq!(run(&mut root, "ACL LIST"), users);
    assert_eq!(*closed.lock().unwrap(), 1, "those of other users end");
    assert!(run(&mut alice, "GET a").starts_with(NO_COMMAND));
    fs::write(&path, "user alice on\nuser alice off\n").unwrap();
    assert!(run(&mut root, "ACL LOAD").contains("Duplicate user 'alice' found on line 2"));
    assert_eq!(run(&mut root, "ACL LIST"), users, "nothing has changed");
    fs::remove_dir_all(&folder).unwrap();
    assert!(run(&mut root, "ACL SAVE").starts_with("-ERR There was an error trying to save the ACLs"));
    assert!(run(&mut root, "ACL LOAD").contains("opening file 'users.acl'"));
}

/// Makes a folder with a file of users, and the builder of an engine that has it.
fn with_file(name: &str, text: &str) -> (PathBuf, Builder) {
    let folder = std::env::temp_dir().join(format!("xtasking-store-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("users.acl"), text).unwrap();
    let builder = Engine::builder().shards(1).setting("dir", folder.to_str().unwrap());
    (folder, builder.setting("aclfile", "users.acl"))
}

#[test]
fn a_file_without_the_default_user_leaves_its_password() {
    let (folder, builder) = with_file("acl-default", "user u on >x +get\n");
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = builder.setting("requirepass", "secret").build(&rt);
    let mut root = engine.client();
    assert_eq!(run(&mut root, "PING"), "-NOAUTH Authentication required.");
    assert_eq!(run(&mut root, "AUTH secret"), "+OK");
    run(&mut root, "ACL SETUSER default nopass");
    assert_eq!(run(&mut engine.client(), "PING"), "+PONG");
    assert_eq!(run(&mut root, "ACL LOAD"), "+OK");
    assert_eq!(run(&mut engine.client(), "PING"), "-NOAUTH Authentication required.");
    // One that is named is as it is said there.
    fs::write(folder.join("users.acl"), "user default on nopass +@all\n").unwrap();
    assert_eq!(run(&mut root, "ACL LOAD"), "+OK");
    assert_eq!(run(&mut engine.client(), "PING"), "+PONG");
    run(&mut root, "CONFIG SET timeout 0");
    assert_eq!(run(&mut engine.client(), "PING"), "+PONG");
    assert_eq!(run(&mut root, "CONFIG SET requirepass secret"), "+OK");
    assert_eq!(run(&mut engine.client(), "PING"), "-NOAUTH Authentication required.");
    fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn a_file_is_for_those_that_could_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, builder) = with_file("acl-mode", "user u on >x +get\n");
    let rt = Runtime::builder().workers(1).build().unwrap();
    let mut root = builder.build(&rt).client();
    let path = folder.join("users.acl");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    for mode in [0o644, 0o600] {
        assert_eq!(run(&mut root, "ACL SAVE"), "+OK");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        // The next one has none before it.
        fs::remove_file(&path).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn users_that_a_file_cannot_have_are_not_saved() {
    let (folder, builder) = with_file("acl-quotes", "user u on >x +get\n");
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = builder.build(&rt);
    let mut root = engine.client();
    for selector in ["(~'a\"b' +get)", "(~'a)' +get)"] {
        let made = root.run(["ACL", "SETUSER", "odd", "clearselectors", selector]).unwrap();
        assert_eq!(shown(&made), "+OK");
        let refused = run(&mut root, "ACL SAVE");
        assert!(refused.contains("the rules of user 'odd' cannot be written"), "{refused}");
    }
    assert_eq!(fs::read(folder.join("users.acl")).unwrap(), b"user u on >x +get\n");
    for rule in ["+select|0 1", "+select|0\nuser eve on nopass +@all"] {
        let refused = root.run(["ACL", "SETUSER", "odd", rule]).unwrap();
        assert!(shown(&refused).starts_with("-ERR Error in ACL SETUSER modifier"), "{rule}");
    }
    run(&mut root, "ACL SETUSER odd clearselectors +select|0 ~\"a' ~b)");
    assert_eq!(run(&mut root, "ACL SAVE"), "+OK");
    let users = run(&mut root, "ACL LIST");
    assert_eq!(run(&mut root, "ACL LOAD"), "+OK");
    assert_eq!(run(&mut root, "ACL LIST"), users);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn listeners_end_as_a_file_takes_their_channels() {
    let (folder, builder) = with_file("acl-listeners", "user default on nopass ~* resetchannels &a +@all\n");
    let rt = Runtime::builder().workers(1).build().unwrap();
    let closed = Arc::new(Mutex::new(Vec::new()));
    let seen = closed.clone();
    let engine = builder.on_close(move |id| seen.lock().unwrap().push(id)).build(&rt);
    let (mut root, mut listener) = (engine.client(), engine.client());
    run(&mut root, "ACL SETUSER default &b");
    run(&mut listener, "SUBSCRIBE b");
    assert_eq!(run(&mut root, "PUBLISH b x"), ":1");
    assert_eq!(run(&mut root, "ACL LOAD"), "+OK");
    assert_eq!(*closed.lock().unwrap(), [listener.id().unwrap()]);
    run(&mut root, "ACL SETUSER default &b");
    assert_eq!(run(&mut root, "PUBLISH b x"), ":0", "also a session without a connection");
    run(&mut listener, "SUBSCRIBE b");
    assert_eq!(run(&mut root, "PUBLISH b x"), ":1", "it may listen again");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn sessions_of_removed_users_get_no_messages() {
    on_engines(settings(), |engine, mut root, _| {
        run(&mut root, "ACL SETUSER u on nopass allkeys allchannels +@all");
        let (mut listener, mut monitor) = (client_of(engine, "u"), client_of(engine, "u"));
        run(&mut listener, "SUBSCRIBE a");
        run(&mut monitor, "MONITOR");
        assert_eq!(run(&mut root, "PUBLISH a x"), ":1");
        run(&mut root, "ACL DELUSER u");
        _ = (listener.take_messages(), monitor.take_messages());
        assert_eq!(run(&mut root, "PUBLISH a x"), ":0");
        assert!(listener.take_messages().is_empty() && monitor.take_messages().is_empty());
    });
}

#[test]
fn connections_of_users_are_closed() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(4).user("u on nopass ~* resetchannels &a +@all");
    let mut service = Service::start(engine, &rt);
    let address = service.listen("127.0.0.1:0").unwrap()[0];
    let connect = |lines: &str, replies: &str| {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(lines.as_bytes()).unwrap();
        let mut got = vec![0; replies.len()];
        client.read_exact(&mut got).unwrap();
        assert_eq!(String::from_utf8_lossy(&got), replies);
        client
    };
    let blocked = connect("AUTH u x\r\nPING\r\nBLPOP list 0\r\n", "+OK\r\n+PONG\r\n");
    let subscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n";
    let listening = connect("AUTH u x\r\nSUBSCRIBE a\r\n", &format!("+OK\r\n{subscribed}"));
    let ends = |mut client: TcpStream| client.read_to_end(&mut Vec::new()).is_ok();
    let mut other = connect("ACL SETUSER u resetchannels\r\n", "+OK\r\n");
    assert!(ends(listening), "it may not listen any more");
    other.write_all(b"ACL DELUSER u\r\n").unwrap();
    assert!(ends(blocked), "its user is gone");
    let mut last = connect(
        "ACL SETUSER own on nopass +acl\r\nAUTH own x\r\nACL DELUSER own\r\nPING\r\n",
        "+OK\r\n+OK\r\n:1\r\n",
    );
    let mut rest = String::new();
    last.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "the reply is the last");
}

/// They reach keys that are not among their arguments.
#[test]
fn ranges_of_keys_take_the_right_to_all_keys() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let builder = Engine::builder().setting("ordered-databases", "all").shards(2);
    let builder = builder.user("some on nopass ~a* +@all").user("reader on nopass %R~* +@all");
    let engine = builder.build(&rt);
    let mut root = engine.client();
    run(&mut root, "MSET a 1 b 2");
    let (mut some, mut reader) = (client_of(&engine, "some"), client_of(&engine, "reader"));
    assert_eq!(run(&mut some, "RANGE - +"), "*2 a b", "as KEYS");
    assert!(run(&mut some, "RANGE - + VALUES").starts_with("-NOPERM"));
    assert!(run(&mut some, "RANGEDEL - +").starts_with("-NOPERM"));
    assert_eq!(run(&mut reader, "RANGE - + VALUES"), "*4 a 1 b 2");
    assert!(run(&mut reader, "RANGEDEL - +").starts_with("-NOPERM"));
    assert_eq!(run(&mut root, "RANGEDEL - +"), ":2");
}
