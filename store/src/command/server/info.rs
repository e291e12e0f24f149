//! INFO: the state of the server, as fields that exporters read.

use super::super::{Call, CommandResult};
use super::info_statistics;
use crate::acl::DenialReason;
use crate::server::{KeyCounts, REDIS_VERSION, Setting, SnapshotKind};
use std::fmt::Write;

/// Writes the fields of a section.
type Section = fn(&mut Call<'_, '_>, &mut String);

/// The sections in order: name, title, and whether INFO shows it without being asked.
const SECTIONS: &[(&str, &str, bool, Section)] = &[
    ("server", "Server", true, server),
    ("clients", "Clients", true, clients),
    ("memory", "Memory", true, memory),
    ("persistence", "Persistence", true, persistence),
    ("stats", "Stats", true, stats),
    ("replication", "Replication", true, replication),
    ("cpu", "CPU", true, cpu),
    ("commandstats", "Commandstats", false, info_statistics::commands),
    ("errorstats", "Errorstats", true, info_statistics::errors),
    ("latencystats", "Latencystats", false, info_statistics::latencies),
    ("cluster", "Cluster", true, cluster),
    ("keyspace", "Keyspace", true, keyspace),
];

pub(super) fn info(call: &mut Call<'_, '_>) -> CommandResult {
    let wanted = call.args.skip(1);
    let asks = |name: &str| wanted.iter().any(|word| word.eq_ignore_ascii_case(name.as_bytes()));
    let is_default = wanted.is_empty() || asks("default");
    let is_all = asks("all") || asks("everything");
    let shown: Vec<_> = SECTIONS
        .iter()
        .filter(|(name, _, is_shown, _)| is_all || is_default && *is_shown || asks(name))
        .collect();
    let mut text = String::new();
    for (_, title, _, write) in shown {
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        field(&mut text, format_args!("# {title}"));
        write(call, &mut text);
    }
    call.reply.verbatim("txt", text.as_bytes());
    call.done()
}

pub(super) fn field(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A string takes all text.
    let _ = write!(text, "{line}\r\n");
}

fn server(call: &mut Call<'_, '_>, text: &mut String) {
    let uptime = call.now().saturating_sub(call.server.started_at) / 1000;
    field(text, format_args!("redis_version:{REDIS_VERSION}"));
    field(text, format_args!("redis_mode:standalone"));
    field(text, format_args!("xtasking_store_version:{}", env!("CARGO_PKG_VERSION")));
    field(text, format_args!("os:{}", std::env::consts::OS));
    field(text, format_args!("arch_bits:{}", usize::BITS));
    field(text, format_args!("process_id:{}", std::process::id()));
    field(text, format_args!("run_id:{}", call.server.run_id));
    field(text, format_args!("server_time_usec:{}", call.now().saturating_mul(1000)));
    field(text, format_args!("uptime_in_seconds:{uptime}"));
    field(text, format_args!("uptime_in_days:{}", uptime / 86_400));
    field(text, format_args!("io_threads_active:{}", i32::from(call.server.workers > 1)));
    field(text, format_args!("workers:{}", call.server.workers));
}

fn clients(call: &mut Call<'_, '_>, text: &mut String) {
    let all = call.server.clients.all();
    field(text, format_args!("connected_clients:{}", all.len()));
    field(text, format_args!("cluster_connections:0"));
    field(text, format_args!("blocked_clients:{}", all.iter().filter(|client| client.is_blocked()).count()));
    field(text, format_args!("tracking_clients:{}", call.server.tracking.sessions().0));
}

fn memory(call: &mut Call<'_, '_>, text: &mut String) {
    let memory = &call.server.memory;
    let (used, peak, resident) = (memory.used(), memory.peak(), memory.resident());
    field(text, format_args!("used_memory:{used}"));
    field(text, format_args!("used_memory_human:{}", human(used)));
    if let Some(bytes) = resident {
        field(text, format_args!("used_memory_rss:{bytes}"));
        field(text, format_args!("used_memory_rss_human:{}", human(bytes)));
    }
    field(text, format_args!("used_memory_peak:{peak}"));
    field(text, format_args!("used_memory_peak_human:{}", human(peak)));
    field(text, format_args!("used_memory_overhead:{}", memory.excess()));
    field(text, format_args!("used_memory_startup:{}", memory.at_start()));
    field(text, format_args!("used_memory_dataset:{}", used.saturating_sub(memory.excess())));
    field(text, format_args!("maxmemory:{}", memory.limit()));
    field(text, format_args!("maxmemory_human:{}", human(memory.limit())));
    let policy = call.server.settings.shown(Setting::MaxMemoryPolicy as usize);
    field(text, format_args!("maxmemory_policy:{policy}"));
    if let Some(bytes) = resident {
        let ratio = bytes as f64 / used.max(1) as f64;
        field(text, format_args!("mem_fragmentation_ratio:{ratio:.2}"));
    }
    field(text, format_args!("mem_not_counted_for_evict:{}", memory.buffers()));
    field(text, format_args!("mem_clients_normal:{}", memory.buffers()));
    field(text, format_args!("lazyfree_pending_objects:{}", memory.unfreed()));
}

/// Shows a number of bytes as Redis does, with a unit.
fn human(bytes: u64) -> String {
    let Some(power) = bytes.checked_ilog(1024).filter(|power| *power > 0) else { return format!("{bytes}B") };
    let unit = ["K", "M", "G", "T", "P", "E"][power as usize - 1];
    format!("{:.2}{unit}", bytes as f64 / 1024f64.powi(power as i32))
}

fn persistence(call: &mut Call<'_, '_>, text: &mut String) {
    field(text, format_args!("loading:0"));
    let status = call.server.persistence.status();
    let changes = call.server.statistics.changes() - status.saved_changes;
    let seconds = |time: Option<u64>| time.map_or(-1, |time| (time / 1000) as i64);
    let of_kind = |kind| status.begun_at.filter(|_| status.kind == kind);
    let [running, rewriting] = [SnapshotKind::File, SnapshotKind::Base]
        .map(|kind| of_kind(kind).map(|begun| call.now().saturating_sub(begun)));
    field(text, format_args!("rdb_changes_since_last_save:{changes}"));
    field(text, format_args!("rdb_bgsave_in_progress:{}", i32::from(running.is_some())));
    field(text, format_args!("rdb_last_save_time:{}", status.last_save / 1000));
    let outcome = if status.has_failed { "err" } else { "ok" };
    field(text, format_args!("rdb_last_bgsave_status:{outcome}"));
    field(text, format_args!("rdb_last_bgsave_time_sec:{}", seconds(status.last_duration)));
    field(text, format_args!("rdb_current_bgsave_time_sec:{}", seconds(running)));
    field(text, format_args!("rdb_saves:{}", status.saves));
    field(text, format_args!("rdb_last_load_keys_expired:{}", status.expired_keys));
    field(text, format_args!("rdb_last_load_keys_loaded:{}", status.loaded_keys));
    let Some(log) = call.server.log.get() else { return field(text, format_args!("aof_enabled:0")) };
    let error = log.error();
    field(text, format_args!("aof_enabled:1"));
    field(text, format_args!("aof_rewrite_in_progress:{}", i32::from(rewriting.is_some())));
    field(text, format_args!("aof_rewrite_scheduled:0"));
    let outcome = if status.base_has_failed { "err" } else { "ok" };
    field(text, format_args!("aof_last_bgrewrite_status:{outcome}"));
    field(text, format_args!("aof_last_rewrite_time_sec:{}", seconds(status.last_base_duration)));
    field(text, format_args!("aof_current_rewrite_time_sec:{}", seconds(rewriting)));
    field(text, format_args!("aof_last_write_status:{}", if error.is_none() { "ok" } else { "err" }));
    if let Some(error) = error {
        field(text, format_args!("aof_last_write_error:{}", error.replace(['\r', '\n'], " ")));
    }
    field(text, format_args!("aof_current_size:{}", log.size()));
    field(text, format_args!("aof_base_size:{}", status.log_size));
    field(text, format_args!("aof_pending_rewrite:0"));
    field(text, format_args!("aof_buffer_length:{}", log.backlog()));
}

fn stats(call: &mut Call<'_, '_>, text: &mut String) {
    let statistics = &call.server.statistics;
    let processed: u64 = statistics.commands().values().map(|counts| counts.calls).sum();
    let KeyCounts { hits, misses, expired } = statistics.keys();
    field(text, format_args!("total_connections_received:{}", statistics.connections()));
    field(text, format_args!("total_commands_processed:{processed}"));
    let errors: u64 = statistics.errors().values().sum();
    field(text, format_args!("total_error_replies:{errors}"));
    field(text, format_args!("expired_keys:{expired}"));
    field(text, format_args!("evicted_keys:{}", call.server.memory.evicted()));
    field(text, format_args!("keyspace_hits:{hits}"));
    field(text, format_args!("keyspace_misses:{misses}"));
    for (name, reason) in [
        ("auth", DenialReason::Auth),
        ("cmd", DenialReason::Command),
        ("key", DenialReason::Key),
        ("channel", DenialReason::Channel),
    ] {
        let count = call.server.acl.denials.count(reason);
        field(text, format_args!("acl_access_denied_{name}:{count}"));
    }
    field(text, format_args!("pubsub_channels:{}", call.server.channels.channels()));
    field(text, format_args!("pubsub_patterns:{}", call.server.channels.patterns()));
    let tracking = &call.server.tracking;
    let ((keys, items), (_, prefixes)) = (tracking.keys(), tracking.sessions());
    field(text, format_args!("tracking_total_keys:{keys}"));
    field(text, format_args!("tracking_total_items:{items}"));
    field(text, format_args!("tracking_total_prefixes:{prefixes}"));
}

fn replication(call: &mut Call<'_, '_>, text: &mut String) {
    field(text, format_args!("role:master"));
    field(text, format_args!("connected_slaves:0"));
    field(text, format_args!("master_failover_state:no-failover"));
    field(text, format_args!("master_replid:{}", call.server.run_id));
    field(text, format_args!("master_repl_offset:0"));
}

/// The processor time of the process in hundredths of a second, user's and system's.
fn processor_time() -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the name in parentheses, may have spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.get(11)?.parse().ok()?, fields.get(12)?.parse().ok()?))
}

fn cpu(_: &mut Call<'_, '_>, text: &mut String) {
    if let Some((user, system)) = processor_time() {
        field(text, format_args!("used_cpu_sys:{}.{:02}", system / 100, system % 100));
        field(text, format_args!("used_cpu_user:{}.{:02}", user / 100, user % 100));
    }
}

fn cluster(_: &mut Call<'_, '_>, text: &mut String) {
    field(text, format_args!("cluster_enabled:0"));
}

fn keyspace(call: &mut Call<'_, '_>, text: &mut String) {
    let own = call.keys.database();
    for database in 0..call.server.databases {
        call.keys.select(database);
        let (keys, expiring) = call.keys.counts();
        if keys > 0 {
            field(text, format_args!("db{database}:keys={keys},expires={expiring},avg_ttl=0"));
        }
    }
    call.keys.select(own);
}
