//! The sizes of the caches.

use super::Knowledge;
use crate::facts::{CacheKind, CoreKind, CpuSet};
use crate::plan::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The caches of a level, as seen by the CPUs that this process may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheSizes {
    /// The level; 1 is the nearest to the core.
    pub level: u8,
    /// The views, with the smallest share first; never empty.
    pub views: Vec<CacheView>,
}

/// What a group of similar CPUs sees of the caches of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheView {
    /// Bytes that hold data (data and unified caches).
    pub size: u64,
    /// How many CPUs share each cache, usable or not.
    pub sharers: u32,
    /// The kind of the cores, if reported.
    pub kind: Option<CoreKind>,
    /// The usable CPUs that see this.
    pub cpus: CpuSet,
}

/// The error of a query for a cache level that is not known for every CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnknownCacheSize {
    /// The reason, as a sentence.
    pub why: String,
}

impl CacheView {
    /// Returns the bytes for each CPU if all that share the cache use it equally.
    pub fn share(&self) -> u64 {
        self.size / u64::from(self.sharers.max(1))
    }
}

impl CacheSizes {
    /// Returns the bytes that every CPU sees: the smallest cache.
    pub fn size(&self) -> u64 {
        self.views.iter().map(|view| view.size).min().unwrap_or(0)
    }

    /// Returns the bytes that every CPU has for itself if caches are used equally: the smallest
    /// share.
    pub fn share(&self) -> u64 {
        self.views.iter().map(CacheView::share).min().unwrap_or(0)
    }

    /// Returns the views as sentences.
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
            0 | 1 => write!(f, "not shared"),
            _ => write!(f, "shared by {sharers} CPUs: {} for each", Bytes(self.share())),
        }
    }
}

impl fmt::Display for UnknownCacheSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for UnknownCacheSize {}

impl Knowledge {
    /// Returns how many bytes of data the caches of a level hold, as seen by the CPUs that this
    /// process may use.
    ///
    /// # Errors
    ///
    /// If no such cache is known, or none for one of these CPUs.
    pub fn cache_size(&self, level: u8) -> Result<CacheSizes, UnknownCacheSize> {
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
            format!("No cache of level {level} that holds data is known; known levels: {known}.")
        } else if !without.is_empty() {
            format!("No cache of level {level} that holds data is known for the CPUs {without}.")
        } else {
            return Ok(CacheSizes { level, views });
        };
        Err(UnknownCacheSize { why })
    }
}
