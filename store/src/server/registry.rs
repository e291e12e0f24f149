//! Which settings there are: names, kinds of values, defaults and meanings.

use super::Settings;
use crate::log::SyncPolicy;

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
    pub(super) fn is_text(self) -> bool {
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
        pub(super) static REGISTRY: &[SettingSpec] = &[$(SettingSpec {
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
        "The seconds after which a client without requests, replies or waits is closed; never if it is 0.";
    TcpKeepalive "tcp-keepalive", SettingKind::Integer(0, i32::MAX as i64), "300", true,
        "The seconds without a sign of life after which a new client is probed; never if it is 0.";
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
    AppendFilename "appendfilename", SettingKind::Text, "appendonly.aof", false,
        "How the files of an append-only file of Redis are called, with which a log begins if there is none.";
    AofLoadTruncated "aof-load-truncated", SettingKind::Flag, "yes", false,
        "Whether such a file is loaded if its last command is not whole.";
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
