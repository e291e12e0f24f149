//! The program: a store at a port.
//!
//! `xtasking-store [FILE] [--SETTING VALUE]…`: the file is a `redis.conf`, and settings are named
//! as there.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "options of the allocator, which is written in C")]
mod allocator;
#[cfg(unix)]
mod descriptors;
mod durable;
mod import;
mod page;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use import::{Places, Source};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;
use std::error::Error;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::{Builder, LoadProgress};
use xtasking_store::net::{ServeError, Service};
use xtasking_store::server::{LastSnapshot, Setting, Settings, Shutdown};

/// The setting of save points, and what the program has for it if none are chosen.
const SAVE: &str = "save";
const SAVE_POINTS: &str = "3600 1 300 100 60 10000";

/// The name of lines that make users: they are no settings, as there are several.
const USER: &str = "user";

#[allow(unsafe_code, reason = "options of the allocator, which is written in C")]
fn main() -> ExitCode {
    // SAFETY: no thread was started.
    unsafe { allocator::keep_freed_memory_for_a_second() };
    match run(&command().get_matches()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtasking-store: {error}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> Command {
    let workers = Arg::new("workers")
        .long("workers")
        .value_name("N")
        .value_parser(value_parser!(usize))
        .help("The number of workers [default: one for each core that the process may use]");
    let http = Arg::new("http")
        .long("http")
        .value_name("ADDRESS")
        .help("Serve a live page and metrics there, for example at 127.0.0.1:9100");
    let file = Arg::new("file")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("A file of settings in the form of redis.conf");
    let settings = Settings::registry().iter().map(|spec| {
        let help = match spec.default {
            _ if spec.name == SAVE => format!("{} [default: {SAVE_POINTS}]", spec.meaning),
            "" => spec.meaning.to_owned(),
            default => format!("{} [default: {default}]", spec.meaning),
        };
        Arg::new(spec.name).long(spec.name).value_name("VALUE").allow_hyphen_values(true).help(help)
    });
    let user = Arg::new(USER)
        .long(USER)
        .value_name("RULES")
        .action(ArgAction::Append)
        .help("A user: its name and rules, as in a line `user` of redis.conf");
    Command::new("xtasking-store")
        .about("A Redis-compatible store on annotated tasks")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(file)
        .arg(workers)
        .arg(http)
        .arg(user)
        .args(settings)
}

fn run(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let chosen = chosen(matches)?;
    let directory = durable::absolute(&value_of(&chosen, "dir"))?;
    let has_log = value_of(&chosen, "appendonly").eq_ignore_ascii_case("yes");
    let places = places(&chosen, &directory);
    let log = has_log.then_some(&places.directory);
    let http = matches.get_one::<String>("http");
    let mut rt = Runtime::builder().inspection(http.is_some());
    if let Some(&workers) = matches.get_one("workers") {
        rt = rt.workers(workers);
    }
    let rt = rt.build()?;
    if log.is_some() {
        durable::begin_log(&places, |log, source| {
            let engine = builder(&chosen, &directory, Some(log))?.open(&rt)?;
            match source {
                Source::Aof(files) => import::load(&engine, files)?,
                Source::Snapshot | Source::Nothing => load(&engine)?,
            }
            engine.log().map_or(Ok(()), |log| log.close()).map_err(Into::into)
        })?;
    } else {
        places.tell_unused();
    }
    let mut engine = builder(&chosen, &directory, log.map(PathBuf::as_path))?;
    if let Some(most) = most_clients(&chosen)? {
        engine = engine.setting("maxclients", most.to_string());
    }
    // What has come before is handled too.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let mut service = Service::open(engine, &rt)?;
    let log = service.engine().log().cloned();
    log.iter().for_each(durable::report);
    if log.is_none() {
        load(service.engine())?;
    }
    let page = http.map(|address| page::serve(&rt, service.engine(), address)).transpose()?;
    page.iter().for_each(|page| println!("xtasking-store: a page is at {}", page.url()));
    let addresses = listen(&mut service)?;
    println!("xtasking-store: {} workers, listening at {addresses}", rt.workers());
    let has_saved = loop {
        signals.forever().next();
        println!("xtasking-store: ends");
        match save(service.engine()) {
            // Without a log the changes since the last snapshot would be lost.
            Err(error) if log.is_none() && !shutdown().is_forced => {
                eprintln!("xtasking-store: does not end: {error}");
                *shutdown() = Shutdown::default();
                service.engine().accept_writes();
            }
            has_saved => break has_saved,
        }
    };
    drop(page);
    drop(service);
    drop(rt);
    // The log ends after the snapshot, whether that was taken or not.
    let has_ended = log.map_or(Ok(()), |log| log.close());
    has_saved?;
    has_ended.map_err(|error| format!("the log is not complete: {error}").into())
}

/// Returns for how many clients the process has descriptors, if there are too few for the setting
/// `maxclients`.
#[cfg(unix)]
fn most_clients(chosen: &[(String, String)]) -> Result<Option<u64>, Box<dyn Error>> {
    let wanted = value_of(chosen, "maxclients").parse()?;
    let most = descriptors::reserve(wanted);
    if let Some(most) = most {
        eprintln!(
            "xtasking-store: maxclients is {most}, not {wanted}, by the limit of descriptors (ulimit -n)"
        );
    }
    Ok(most)
}

#[cfg(not(unix))]
fn most_clients(_: &[(String, String)]) -> Result<Option<u64>, Box<dyn Error>> {
    Ok(None)
}

/// Returns where the files are by these settings.
fn places(chosen: &[(String, String)], directory: &Path) -> Places {
    let aof = value_of(chosen, "appendfilename");
    Places {
        directory: directory.join(value_of(chosen, "appenddirname")),
        single: directory.join(&aof),
        aof,
        snapshot: directory.join(value_of(chosen, "dbfilename")),
    }
}

/// Returns the builder of an engine with these settings, and with a log in a directory.
fn builder(
    chosen: &[(String, String)],
    directory: &Path,
    log: Option<&Path>,
) -> Result<Builder, Box<dyn Error>> {
    let mut engine = Engine::builder().on_shutdown(end);
    for (name, value) in chosen {
        if name == USER {
            engine = engine.user(value);
            continue;
        }
        Settings::check_initial(name, value).map_err(|error| error.text(name, value))?;
        engine = match name.as_str() {
            "databases" => engine.databases(value.parse()?),
            // The log says whether there is one.
            "appendonly" => engine,
            _ => engine.setting(name, value),
        };
    }
    engine = engine.setting("dir", directory.to_string_lossy());
    match log {
        Some(log) => durable::with_log(engine, log),
        None => Ok(engine),
    }
}

/// What SHUTDOWN has said.
static SHUTDOWN: Mutex<Shutdown> = Mutex::new(Shutdown { snapshot: LastSnapshot::AsSet, is_forced: false });

fn shutdown() -> MutexGuard<'static, Shutdown> {
    SHUTDOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a last snapshot, if there are any by the setting `save`, or as SHUTDOWN has said.
fn save(engine: &Engine) -> Result<(), Box<dyn Error>> {
    let is_wanted = match shutdown().snapshot {
        LastSnapshot::AsSet => !engine.server().settings.text(Setting::Save).is_empty(),
        LastSnapshot::Yes => true,
        LastSnapshot::No => false,
    };
    if !is_wanted {
        return Ok(());
    }
    engine.refuse_writes();
    engine.save().map_err(|error| format!("the last snapshot has failed: {error}"))?;
    println!("xtasking-store: a snapshot was saved");
    Ok(())
}

/// Ends the program, as SIGTERM does.
fn end(how: Shutdown) {
    *shutdown() = how;
    if let Err(error) = raise(SIGTERM) {
        eprintln!("xtasking-store: cannot end: {error}");
    }
}

/// Returns the value that was chosen last, or the default.
fn value_of(chosen: &[(String, String)], name: &str) -> String {
    let chosen = chosen.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let default =
        || Settings::registry().iter().find(|spec| spec.name == name).map_or("", |spec| spec.default);
    chosen.unwrap_or_else(default).to_owned()
}

/// Returns the settings of the file and of the command line, in the order in which they hold.
fn chosen(matches: &ArgMatches) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut chosen = Vec::new();
    if let Some(path) = matches.get_one::<PathBuf>("file") {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        read_file(&text, &mut chosen);
    }
    for spec in Settings::registry() {
        if let Some(value) = matches.get_one::<String>(spec.name) {
            chosen.push((spec.name.to_owned(), value.clone()));
        }
    }
    let users = matches.get_many::<String>(USER).into_iter().flatten();
    chosen.extend(users.map(|user| (USER.to_owned(), user.clone())));
    if !chosen.iter().any(|(name, _)| name == SAVE) {
        chosen.push((SAVE.to_owned(), SAVE_POINTS.to_owned()));
    }
    Ok(chosen)
}

/// Adds the settings of a file.
fn read_file(text: &str, chosen: &mut Vec<(String, String)>) {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        let unquoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        // A line of a user has several words, and each may have quotes of its own.
        choose(chosen, &name, unquoted.filter(|_| name != USER).unwrap_or(value));
    }
}

/// Adds a setting of the file. Lines of `save` add points to each other.
fn choose(chosen: &mut Vec<(String, String)>, name: &str, value: &str) {
    match chosen.iter_mut().rfind(|(known, _)| known == name && name == SAVE && !value.is_empty()) {
        Some((_, points)) => *points = format!("{points} {value}").trim().to_owned(),
        None => chosen.push((name.to_owned(), value.to_owned())),
    }
}

/// Loads the file of the settings `dir` and `dbfilename`, if it is there.
fn load(engine: &Engine) -> Result<(), String> {
    let settings = &engine.server().settings;
    let path = Path::new(&settings.text(Setting::Dir)).join(settings.text(Setting::DbFileName));
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(&error)),
    };
    let size = file.metadata().map_or(0, |metadata| metadata.len()).max(1);
    let mut told = Instant::now();
    let loaded = engine.load(file, |progress| {
        if told.elapsed() >= Duration::from_secs(1) {
            told = Instant::now();
            let percent = progress.bytes * 100 / size;
            println!("xtasking-store: loads {}: {percent}%, {} keys", path.display(), progress.keys);
        }
    });
    let LoadProgress { keys, expired, empty, functions, .. } = loaded.map_err(|error| failed(&error))?;
    let loaded = keys - expired - empty;
    println!("xtasking-store: {} has {loaded} keys, and {expired} that have expired", path.display());
    if functions > 0 {
        println!("xtasking-store: {functions} libraries of functions were skipped");
    }
    Ok(())
}

/// Listens where the settings say, and returns the addresses.
fn listen(service: &mut Service) -> Result<String, Box<dyn Error>> {
    let settings = &service.engine().server().settings;
    let (port, tls_port) = (settings.number(Setting::Port), settings.number(Setting::TlsPort));
    let (bind, socket) = (settings.text(Setting::Bind), settings.text(Setting::UnixSocket));
    let mut addresses = Vec::new();
    for address in bind.split_whitespace() {
        let (is_optional, host) = match address.strip_prefix('-') {
            Some(host) => (true, host),
            None => (false, address),
        };
        let host = match host {
            "*" => "0.0.0.0".to_owned(),
            host if host.contains(':') => format!("[{host}]"),
            host => host.to_owned(),
        };
        for (port, by_tls) in [(port, false), (tls_port, true)].into_iter().filter(|(port, _)| *port > 0) {
            let address = format!("{host}:{port}");
            match if by_tls { listen_tls(service, address) } else { service.listen(address) } {
                Ok(at) if by_tls => addresses.extend(at.iter().map(|at| format!("{at} by TLS"))),
                Ok(at) => addresses.extend(at.iter().map(ToString::to_string)),
                Err(ServeError::Listen { .. }) if is_optional => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    #[cfg(unix)]
    if !socket.is_empty() {
        service.listen_unix(&socket)?;
        addresses.push(socket);
    }
    Ok(addresses.join(", "))
}

#[cfg(feature = "tls")]
fn listen_tls(service: &mut Service, address: String) -> Result<Vec<SocketAddr>, ServeError> {
    service.listen_tls(address)
}

#[cfg(not(feature = "tls"))]
fn listen_tls(_: &mut Service, _: String) -> Result<Vec<SocketAddr>, ServeError> {
    Err(ServeError::Tls("the program was built without the feature `tls`".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_words_stay_in_lines_of_users() {
        let mut chosen = Vec::new();
        read_file(
            "# none\n\nuser \"bob\" on \">pass word\"\nrequirepass \"secret\"\nSAVE 1 2\nsave 3 4",
            &mut chosen,
        );
        let expected =
            [("user", "\"bob\" on \">pass word\""), ("requirepass", "secret"), ("save", "1 2 3 4")];
        assert_eq!(chosen, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
