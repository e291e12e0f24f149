//! What CONFIG reads and sets.

use super::ordered::OrderDue;
use super::persistence::save_points;
use super::{notifications, ordered, percentiles};
use crate::log::{PolicySource, SyncPolicy};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// `yes` or `no`.
    Flag,
    /// An integer of this range.
    Integer(i64, i64),
    /// A number of bytes, perhaps with a unit, of this range.
    Memory(i64, i64),
    /// Any text.
    Text,
    /// Pairs of seconds and numbers of changes.
    SavePoints,
    /// Numbers from 0 to 100, with spaces between them.
    Percentiles,
    /// Numbers of databases with spaces between them, or `all`.
    Databases,
    /// Letters of kinds of keyspace events.
    Events,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// This text alone: the store has nothing else.
    Only(&'static str),
}

impl SettingKind {
    /// Returns true if the value is kept as a text.
    fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::SavePoints | Self::Percentiles | Self::Databases)
    }
}

/// An entry in the registry of settings.
#[derive(Clone, Copy, Debug)]
pub struct SettingSpec {
    /// Its name.
    pub name: &'static str,
    /// An older name.
    pub alias: Option<&'static str>,
    /// What values it takes.
    pub kind: SettingKind,
    /// The value at first.
    pub default: &'static str,
    /// False if only the start sets it.
    pub is_mutable: bool,
    /// What it is for.
    pub meaning: &'static str,
}

macro_rules! settings {
    ($(
        $key:ident $name:literal $(or $alias:literal)?,
        $kind:expr, $default:literal, $mutable:literal, $meaning:literal;
    )*) => {
        /// A setting of the registry.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Setting {
            $(#[doc = $meaning] $key,)*
        }

        /// The settings, in the order of [`Setting`].
        static REGISTRY: &[SettingSpec] = &[$(SettingSpec {
            name: $name,
            alias: settings!(@alias $($alias)?),
            kind: $kind,
            default: $default,
            is_mutable: $mutable,
            meaning: $meaning,
        },)*];
    };
    (@alias) => { None };
    (@alias $alias:literal) => { Some($alias) };
}

const COUNT: SettingKind = SettingKind::Integer(0, i64::MAX);
const BYTES: SettingKind = SettingKind::Memory(0, i64::MAX);

settings! {
    Databases "databases", SettingKind::Integer(1, i32::MAX as i64), "16", false,
        "The number of databases.";
    OrderedDatabases "ordered-databases", SettingKind::Databases, "", true,
        "The databases that have their keys in order: their numbers, or all; none if it is empty.";
    RequirePass "requirepass", SettingKind::Text, "", true,
        "The password of the default user; none if it is empty.";
    AclFile "aclfile", SettingKind::Text, "", false,
        "The file of users, in that directory; none if it is empty.";
    AclPubsubDefault "acl-pubsub-default", SettingKind::Choice(&["resetchannels", "allchannels"]),
        "resetchannels", true,
        "Whether new users have all channels.";
    AclLogMaxLen "acllog-max-len", COUNT, "128", true,
        "The most refused requests that ACL LOG keeps.";
    Bind "bind", SettingKind::Text, "127.0.0.1 -::1", false,
        "The addresses to listen at. One that begins with a minus may be missing.";
    Port "port", SettingKind::Integer(0, 65535), "6379", false,
        "The port to listen at; none if it is 0.";
    TlsPort "tls-port", SettingKind::Integer(0, 65535), "0", false,
        "The port to listen at for TLS; none if it is 0.";
    TlsCertFile "tls-cert-file", SettingKind::Text, "", false,
        "The file of the certificate, in the directory of the setting dir.";
    TlsKeyFile "tls-key-file", SettingKind::Text, "", false,
        "The file of its key.";
    TlsCaCertFile "tls-ca-cert-file", SettingKind::Text, "", false,
        "The file of the authorities whose certificates clients have.";
    TlsAuthClients "tls-auth-clients", SettingKind::Choice(&["yes", "no", "optional"]), "yes", false,
        "Whether clients need a certificate: yes, no, or optional.";
    UnixSocket "unixsocket", SettingKind::Text, "", false,
        "The path of the socket to listen at; none if it is empty.";
    ProtectedMode "protected-mode", SettingKind::Flag, "yes", true,
        "Whether clients elsewhere are refused as long as there is no password.";
    MaxClients "maxclients", SettingKind::Integer(1, u32::MAX as i64), "10000", true,
        "The most clients at a time.";
    Timeout "timeout", SettingKind::Integer(0, i32::MAX as i64), "0", true,
        "The seconds after which a client that sends nothing is closed; never if it is 0.";
    ClientQueryBufferLimit "client-query-buffer-limit",
        SettingKind::Memory(1 << 20, i64::MAX), "1073741824", true,
        "The most bytes of requests that are not complete.";
    ProtoMaxBulkLen "proto-max-bulk-len", SettingKind::Memory(1 << 20, i64::MAX), "536870912", true,
        "The longest argument, and the longest string.";
    NotifyKeyspaceEvents "notify-keyspace-events", SettingKind::Events, "", true,
        "The kinds of keyspace events that are published; none if it is empty.";
    Save "save", SettingKind::SavePoints, "", true,
        "When snapshots are taken: after a number of seconds with a number of changes, in pairs of numbers.";
    StopWritesOnBgsaveError "stop-writes-on-bgsave-error", SettingKind::Flag, "yes", true,
        "Whether commands that write are refused when a snapshot has failed.";
    DbFileName "dbfilename", SettingKind::Text, "dump.rdb", false,
        "The file in that directory that is loaded at the start, and that snapshots replace.";
    AppendOnly "appendonly", SettingKind::Flag, "no", false,
        "Whether changes are written to a log, and replayed at the next start.";
    AppendFsync "appendfsync", SettingKind::Choice(SyncPolicy::NAMES), "everysec", true,
        "When the log is synced: always, everysec, or no.";
    AppendDirName "appenddirname", SettingKind::Text, "appendonlydir", false,
        "The directory of the log, in that of the setting dir.";
    AutoAofRewritePercentage "auto-aof-rewrite-percentage",
        SettingKind::Integer(0, i32::MAX as i64), "100", true,
        "By how many percent the log grows before a base makes it shorter; 0 for never.";
    AutoAofRewriteMinSize "auto-aof-rewrite-min-size", BYTES, "67108864", true,
        "The bytes of the log below which none does.";
    MaxMemory "maxmemory", BYTES, "0", true,
        "The most bytes that keys and values take; no limit if it is 0.";
    MaxMemoryPolicy "maxmemory-policy", SettingKind::Choice(Settings::EVICTION_POLICIES), "noeviction", true,
        "Which keys are evicted when they take more; none, and commands that add are refused.";
    MaxMemorySamples "maxmemory-samples", SettingKind::Integer(1, i32::MAX as i64), "5", true,
        "The keys among which each one to evict is chosen.";
    LfuLogFactor "lfu-log-factor", SettingKind::Integer(0, i32::MAX as i64), "10", true,
        "How slowly the counter of accesses grows under the policies lfu.";
    LfuDecayTime "lfu-decay-time", SettingKind::Integer(0, i32::MAX as i64), "1", true,
        "The minutes after which it loses one; 0 for never.";
    Dir "dir", SettingKind::Text, ".", false,
        "The directory of what is kept.";
    EnableDebugCommand "enable-debug-command", SettingKind::Flag, "no", false,
        "Whether the command DEBUG is allowed.";
    SlowlogLogSlowerThan "slowlog-log-slower-than", SettingKind::Integer(-1, i64::MAX), "10000", true,
        "The microseconds from which a request is in the slow log; none is if it is -1.";
    SlowlogMaxLen "slowlog-max-len", COUNT, "128", true,
        "The most requests in the slow log.";
    LatencyTracking "latency-tracking", SettingKind::Flag, "yes", true,
        "Whether the times of each command are kept as a histogram.";
    LatencyTrackingInfoPercentiles "latency-tracking-info-percentiles", SettingKind::Percentiles,
        "50 99 99.9", true,
        "The percentiles of these times that INFO shows.";
    LatencyMonitorThreshold "latency-monitor-threshold", COUNT, "0", true,
        "The milliseconds from which an event is kept by the latency monitor; none is if it is 0.";
    TrackingTableMaxKeys "tracking-table-max-keys", COUNT, "1000000", true,
        "The most keys that are noted as read by clients that track keys; no limit if it is 0.";
    HashMaxListpackEntries "hash-max-listpack-entries" or "hash-max-ziplist-entries", COUNT, "512", true,
        "The most fields of a hash that is a list in one block.";
    HashMaxListpackValue "hash-max-listpack-value" or "hash-max-ziplist-value", BYTES, "64", true,
        "The longest field or value of such a hash.";
    HllSparseMaxBytes "hll-sparse-max-bytes", BYTES, "3000", true,
        "The most bytes of a HyperLogLog that is sparse.";
    ListMaxListpackSize "list-max-listpack-size" or "list-max-ziplist-size",
        SettingKind::Integer(i32::MIN as i64, i32::MAX as i64), "-2", true,
        "The most elements of a block of a list, or its size as a negative power of two.";
    ListCompressDepth "list-compress-depth", SettingKind::Integer(0, i32::MAX as i64), "0", true,
        "The blocks at each end of a list that are not compressed: taken, but none are compressed.";
    SetMaxIntsetEntries "set-max-intset-entries", COUNT, "512", true,
        "The most members of a set that is an array of integers.";
    SetMaxListpackEntries "set-max-listpack-entries", COUNT, "128", true,
        "The most members of a set that is a list in one block.";
    SetMaxListpackValue "set-max-listpack-value", BYTES, "64", true,
        "The longest member of such a set.";
    ZsetMaxListpackEntries "zset-max-listpack-entries" or "zset-max-ziplist-entries", COUNT, "128", true,
        "The most members of a sorted set that is a list in one block.";
    ZsetMaxListpackValue "zset-max-listpack-value" or "zset-max-ziplist-value", BYTES, "64", true,
        "The longest member of such a sorted set.";
    StreamNodeMaxBytes "stream-node-max-bytes", BYTES, "4096", true,
        "The most bytes of a block of a stream; any number if it is 0.";
    StreamNodeMaxEntries "stream-node-max-entries", COUNT, "100", true,
        "The most entries of a block of a stream; any number if it is 0.";
}

/// Why a setting was not set. The texts are Redis' own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// There is none of this name.
    Unknown,
    /// The value is not taken; why.
    Refused(String),
}

/// The values of all settings.
#[derive(Debug)]
pub struct Settings {
    /// Those of flags, numbers and choices.
    numbers: Arc<[AtomicI64]>,
    /// Those of texts; empty for others.
    texts: Mutex<Vec<String>>,
    expires_actively: AtomicI64,
    pub(super) order_due: OrderDue,
}

impl Settings {
    pub(crate) fn new(databases: usize) -> Self {
        let numbers =
            REGISTRY.iter().map(|spec| AtomicI64::new(parse(spec, spec.default).unwrap_or_default()));
        let texts = REGISTRY.iter().map(|spec| match spec.kind {
            kind if kind.is_text() => spec.default.to_owned(),
            _ => String::new(),
        });
        let settings = Self {
            numbers: numbers.collect(),
            texts: Mutex::new(texts.collect()),
            expires_actively: AtomicI64::new(1),
            order_due: OrderDue::default(),
        };
        settings.store_number(Setting::Databases as usize, databases as i64);
        settings
    }

    /// Returns all settings.
    pub fn registry() -> &'static [SettingSpec] {
        REGISTRY
    }

    /// Returns the value of a flag, as 0 or 1, or of a number.
    pub fn number(&self, setting: Setting) -> i64 {
        // Relaxed: a setting orders nothing.
        self.numbers[setting as usize].load(Ordering::Relaxed)
    }

    /// Returns a function that tells when the log is synced.
    pub(crate) fn sync_policy(&self) -> PolicySource {
        let numbers = self.numbers.clone();
        // Relaxed: see `number`.
        Box::new(move || {
            SyncPolicy::from_number(numbers[Setting::AppendFsync as usize].load(Ordering::Relaxed))
        })
    }

    pub(crate) fn store_number(&self, index: usize, value: i64) {
        // Relaxed: see `number`.
        self.numbers[index].store(value, Ordering::Relaxed);
    }

    fn store_text(&self, index: usize, value: String) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)[index] = value;
    }

    /// Returns the percentiles of the times of commands that INFO shows.
    pub(crate) fn percentiles(&self) -> Vec<f64> {
        percentiles::parse(&self.text(Setting::LatencyTrackingInfoPercentiles)).unwrap_or_default()
    }

    /// Returns the value of a text.
    pub fn text(&self, setting: Setting) -> String {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)[setting as usize].clone()
    }

    /// Returns a value as CONFIG GET does: the setting is that of this index in the registry.
    pub fn shown(&self, index: usize) -> String {
        let number = || self.numbers[index].load(Ordering::Relaxed);
        match REGISTRY[index].kind {
            SettingKind::Flag => if number() == 1 { "yes" } else { "no" }.to_owned(),
            SettingKind::Integer(..) | SettingKind::Memory(..) => number().to_string(),
            SettingKind::Only(text) => text.to_owned(),
            SettingKind::Choice(words) => words[number() as usize].to_owned(),
            SettingKind::Events => notifications::show(number()),
            _ => self.texts.lock().unwrap_or_else(PoisonError::into_inner)[index].clone(),
        }
    }

    /// Finds a setting by its name or older name, in letters of any case.
    pub fn find(name: &[u8]) -> Option<usize> {
        let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
        REGISTRY.iter().position(|spec| is(spec.name) || spec.alias.is_some_and(is))
    }

    /// Checks whether CONFIG SET may set this value. For `appendonly` that is the one it has.
    ///
    /// # Errors
    ///
    /// If it may not.
    pub fn check(&self, index: usize, value: &str) -> Result<(), SettingError> {
        let spec = &REGISTRY[index];
        let number = parse(spec, value);
        let is_kept = index == Setting::AppendOnly as usize && number == Ok(self.number(Setting::AppendOnly));
        if !spec.is_mutable && !is_kept {
            return Err(SettingError::Refused("can't set immutable config".to_owned()));
        }
        number.map_err(SettingError::Refused)?;
        self.check_databases(spec, value)
    }

    /// Checks whether a setting takes a value at the start.
    ///
    /// # Errors
    ///
    /// If there is none of this name, or it does not take the value.
    pub fn check_initial(name: &str, value: &str) -> Result<(), SettingError> {
        let index = Self::find(name.as_bytes()).ok_or(SettingError::Unknown)?;
        parse(&REGISTRY[index], value).map(drop).map_err(SettingError::Refused)
    }

    /// Sets a setting, mutable or not.
    ///
    /// # Errors
    ///
    /// If there is none of this name, or it does not take the value.
    pub fn set(&self, name: &str, value: &str) -> Result<(), SettingError> {
        let index = Self::find(name.as_bytes()).ok_or(SettingError::Unknown)?;
        let number = parse(&REGISTRY[index], value).map_err(SettingError::Refused)?;
        self.check_databases(&REGISTRY[index], value)?;
        match REGISTRY[index].kind {
            SettingKind::Text | SettingKind::SavePoints => self.store_text(index, value.to_owned()),
            SettingKind::Databases => {
                self.store_text(index, value.to_ascii_lowercase());
                self.order_due.note();
            }
            SettingKind::Percentiles => {
                self.store_text(index, percentiles::show(&percentiles::parse(value).unwrap_or_default()));
            }
            _ => self.store_number(index, number),
        }
        Ok(())
    }

    /// Returns true if new users have all channels.
    pub(crate) fn allows_new_users_all_channels(&self) -> bool {
        self.number(Setting::AclPubsubDefault) != 0
    }

    /// Returns true if expired keys are removed without an access: DEBUG SET-ACTIVE-EXPIRE.
    pub fn expires_actively(&self) -> bool {
        self.expires_actively.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn set_expires_actively(&self, is_on: bool) {
        self.expires_actively.store(is_on.into(), Ordering::Relaxed);
    }
}

/// Reads a value. Texts have the number 0.
fn parse(spec: &SettingSpec, value: &str) -> Result<i64, String> {
    let within = |number: i64, least: i64, most: i64| match (least..=most).contains(&number) {
        true => Ok(number),
        false => Err(format!("argument must be between {least} and {most} inclusive")),
    };
    match spec.kind {
        SettingKind::Text => Ok(0),
        SettingKind::SavePoints => match save_points(value) {
            Some(_) => Ok(0),
            None => Err("Invalid save parameters".to_owned()),
        },
        // Which databases there are is checked when it is set.
        SettingKind::Databases => ordered::parse(value).map(|_| 0),
        SettingKind::Percentiles => percentiles::parse(value).map(|_| 0).map_err(str::to_owned),
        SettingKind::Choice(words) => {
            let at = words.iter().position(|word| word.eq_ignore_ascii_case(value));
            let unknown = || format!("argument(s) must be one of the following: {}", words.join(", "));
            at.map(|at| at as i64).ok_or_else(unknown)
        }
        SettingKind::Only(text) if value == text => Ok(0),
        SettingKind::Only(text) => Err(format!("argument must be '{text}': the store has nothing else")),
        SettingKind::Events => notifications::parse(value)
            .ok_or_else(|| "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".to_owned()),
        SettingKind::Flag => match value.to_ascii_lowercase().as_str() {
            "yes" => Ok(1),
            "no" => Ok(0),
            _ => Err("argument must be 'yes' or 'no'".to_owned()),
        },
        SettingKind::Integer(least, most) => {
            let number = crate::resp::parse_integer(value.as_bytes());
            within(number.ok_or("argument couldn't be parsed into an integer")?, least, most)
        }
        SettingKind::Memory(least, most) => {
            within(parse_memory(value).ok_or("argument must be a memory value")?, least, most)
        }
    }
}

/// Reads a number of bytes with a unit as Redis does: `k` is 1000, `kb` is 1024. No digits are
/// zero.
fn parse_memory(text: &str) -> Option<i64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[end..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    let number = if end == 0 { 0 } else { text[..end].parse::<i64>().ok()? };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_and_shown() {
        let settings = Settings::new(4);
        assert_eq!(settings.number(Setting::Databases), 4);
        assert_eq!(settings.set("proto-max-bulk-len", "2mb"), Ok(()));
        assert_eq!(settings.number(Setting::ProtoMaxBulkLen), 2 << 20);
        let hash = Settings::find(b"HASH-max-ZIPLIST-entries").unwrap();
        assert_eq!(settings.shown(hash), "512");
        assert!(matches!(settings.check(hash, "x"), Err(SettingError::Refused(_))));
        assert!(matches!(settings.check(0, "8"), Err(SettingError::Refused(_))));
        assert_eq!(settings.set("save", "900 1"), Ok(()));
        assert!(matches!(settings.set("save", "900"), Err(SettingError::Refused(_))));
        assert_eq!(settings.text(Setting::Save), "900 1");
        // Only the start turns the log on.
        let log = Settings::find(b"appendonly").unwrap();
        assert_eq!(settings.check(log, "no"), Ok(()));
        assert!(matches!(settings.check(log, "yes"), Err(SettingError::Refused(_))));
        let policy = settings.sync_policy();
        assert_eq!(settings.set("appendfsync", "always"), Ok(()));
        assert_eq!(policy(), SyncPolicy::Always);
        assert!(matches!(settings.set("appendfsync", "never"), Err(SettingError::Refused(_))));
        assert_eq!(settings.set("nothing", "1"), Err(SettingError::Unknown));
    }

    #[test]
    fn each_default_is_a_value() {
        for spec in REGISTRY {
            assert!(parse(spec, spec.default).is_ok(), "{}", spec.name);
        }
    }
}
