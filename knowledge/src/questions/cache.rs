//! How much cache there is.

use super::Knowledge;
use crate::facts::{CacheKind, CoreKind, CpuSet};
use crate::plan::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The caches of a level, by what the CPUs that this process may use see of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSizes {
    /// 1 is the nearest to a core.
    pub level: u8,
    /// Those that are alike, the smallest share first: never empty.
    pub views: Vec<CacheView>,
}

/// What CPUs of one kind see of their caches of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheView {
    /// Bytes of data or of data and instructions that a CPU sees.
    pub size: u64,
    /// How many CPUs share one of these caches, whether this process may use them or not.
    pub sharers: u32,
    /// Which kind of cores they are, where that is told.
    pub kind: Option<CoreKind>,
    /// The CPUs that see this and may be used.
    pub cpus: CpuSet,
}

/// A size is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// Why, in a sentence.
    pub why: String,
}

impl CacheView {
    /// Bytes for each CPU, if all that share it use it alike.
    pub fn share(&self) -> u64 {
        self.size / u64::from(self.sharers.max(1))
    }
}

impl CacheSizes {
    /// Bytes that every CPU sees: the smallest cache.
    pub fn size(&self) -> u64 {
        self.views.iter().map(|view| view.size).min().unwrap_or(0)
    }

    /// Bytes that every CPU has for itself, if all that share a cache use it alike: the smallest share.
    pub fn share(&self) -> u64 {
        self.views.iter().map(CacheView::share).min().unwrap_or(0)
    }

    /// The views in sentences.
    pub fn why(&self) -> Vec<String> {
        self.views.iter().map(|view| format!("Level {}: {view}.", self.level)).collect()
    }
}

impl fmt::Display for CacheView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, sharers, kind, cpus } = self;
        let kind = match kind {
            Some(CoreKind::Performance) => " (performance)",
            Some(CoreKind::Efficiency) => " (efficiency)",
            None => "",
        };
        write!(f, "CPUs {cpus}{kind} see {}, ", Bytes(*size))?;
        match sharers {
            0 | 1 => write!(f, "each for itself"),
            _ => write!(f, "{sharers} CPUs share it: {} for each", Bytes(self.share())),
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Unknown {}

impl Knowledge {
    /// How much data the caches of a level hold, as the CPUs see it that this process may use.
    ///
    /// # Errors
    ///
    /// If one of these CPUs has no such cache, or none is known.
    pub fn cache_size(&self, level: u8) -> Result<CacheSizes, Unknown> {
        let facts = self.facts();
        let allowed = facts.allowed();
        let mut views = BTreeMap::<(u64, u32, u64, Option<CoreKind>), Vec<u32>>::new();
        let mut seen = Vec::new();
        let holds_data = |kind| matches!(kind, CacheKind::Data | CacheKind::Unified);
        for cache in facts.caches.iter().filter(|cache| cache.level == level && holds_data(cache.kind)) {
            let sharers = cache.cpus.iter().filter(|&cpu| facts.cpu(cpu).is_some()).count() as u32;
            for cpu in cache.cpus.and(&allowed).iter() {
                let kind = facts.cpu(cpu).and_then(|cpu| cpu.kind);
                let share = cache.size / u64::from(sharers.max(1));
                views.entry((share, sharers, cache.size, kind)).or_default().push(cpu);
                seen.push(cpu);
            }
        }
        let seen = CpuSet::from_iter(seen);
        let without: CpuSet = allowed.iter().filter(|&cpu| !seen.contains(cpu)).collect();
        let views: Vec<_> = views
            .into_iter()
            .map(|((_, sharers, size, kind), cpus)| CacheView {
                size,
                sharers,
                kind,
                cpus: cpus.into_iter().collect(),
            })
            .collect();
        let why = if allowed.is_empty() {
            "No CPU may be used.".to_string()
        } else if views.is_empty() {
            let mut levels: Vec<_> = facts.caches.iter().map(|cache| cache.level.to_string()).collect();
            levels.dedup();
            let known = if levels.is_empty() { "none".to_string() } else { levels.join(", ") };
            format!("No cache of level {level} that holds data is known: known levels are {known}.")
        } else if !without.is_empty() {
            format!("No cache of level {level} that holds data is known of the CPUs {without}.")
        } else {
            return Ok(CacheSizes { level, views });
        };
        Err(Unknown { why })
    }
}
