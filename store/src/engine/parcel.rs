//! Records of a file on their way to a shard, and how they are inserted there.

use super::engine::Inner;
use crate::command::Effects;
use crate::keyspace::{HeldShards, Keys, Shard};
use crate::rdb::{RdbError, RdbErrorKind, RecordView, decode_value, plain_text};
use std::sync::Arc;
use xtasking::Context;

/// Records for one task. They lie one after the other in memory that is written and read once: a
/// load is as fast as the caches let it be.
#[derive(Debug, Default)]
pub(super) struct Parcel(Vec<u8>);

/// What a task is to know of the file.
#[derive(Clone, Debug)]
pub(super) struct FileFacts {
    /// What has expired then is left out. In ms since 1970.
    pub(super) expires_before: u64,
    /// When the keys are inserted, in ms since 1970.
    pub(super) now: u64,
    /// About how many keys each shard will have of some databases.
    pub(super) sizes: Arc<[(usize, usize)]>,
}

/// What a task has not loaded: expired and empty keys.
pub(super) type Skipped = (u64, u64);

/// A record of a parcel.
#[derive(Clone, Copy, Debug)]
struct Item<'p> {
    hash: u64,
    database: usize,
    key: &'p [u8],
    value: &'p [u8],
    /// The number of the value's type.
    code: u8,
    /// Where the value is in the file.
    offset: u64,
    expires_at: Option<u64>,
    idle_seconds: Option<u64>,
}

/// Bits that tell which parts follow the head of a record.
const EXPIRES: u8 = 1;
const HAS_IDLE: u8 = 2;

/// The records whose places are fetched together before they are inserted.
const FETCHED_AT_ONCE: usize = 32;

/// Takes the next bytes of a parcel off the front.
#[inline]
fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (taken, rest) = bytes.split_first_chunk().expect("a parcel has whole records");
    *bytes = rest;
    *taken
}

#[inline]
fn take_number(bytes: &mut &[u8]) -> u64 {
    u64::from_le_bytes(take(bytes))
}

#[inline]
fn take_bytes<'p>(bytes: &mut &'p [u8], len: usize) -> &'p [u8] {
    let (taken, rest) = bytes.split_at(len);
    *bytes = rest;
    taken
}

impl Parcel {
    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a record of a database, whose key has this hash. An empty parcel gets room for
    /// `capacity` bytes.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, database: usize, record: &RecordView<'_>, capacity: usize) {
        let Self(bytes) = self;
        if bytes.capacity() == 0 {
            bytes.reserve_exact(capacity);
        }
        let expires = if record.expires_at.is_some() { EXPIRES } else { 0 };
        let has_idle = if record.idle_seconds.is_some() { HAS_IDLE } else { 0 };
        let mut head = [0; 42];
        let words =
            [hash, record.offset, record.key.len() as u64, record.bytes.len() as u64, database as u64];
        for (place, word) in head.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        head[40..].copy_from_slice(&[record.code, expires | has_idle]);
        bytes.extend_from_slice(&head);
        for part in [record.expires_at, record.idle_seconds].into_iter().flatten() {
            bytes.extend_from_slice(&part.to_le_bytes());
        }
        bytes.extend_from_slice(record.key);
        bytes.extend_from_slice(record.bytes);
    }

    fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let [hash, offset] = [(); 2].map(|()| take_number(&mut rest));
            let [key, value, database] = [(); 3].map(|()| take_number(&mut rest) as usize);
            let [code, parts] = take(&mut rest);
            let mut part = |bit| (parts & bit != 0).then(|| take_number(&mut rest));
            let (expires_at, idle_seconds) = (part(EXPIRES), part(HAS_IDLE));
            let (key, value) = (take_bytes(&mut rest, key), take_bytes(&mut rest, value));
            Some(Item { hash, database, key, value, code, offset, expires_at, idle_seconds })
        })
    }
}

impl Inner {
    /// Inserts records into a shard. The log gets them as RESTORE does.
    pub(super) fn insert(
        &self,
        number: usize,
        shard: &mut Shard,
        parcel: &Parcel,
        facts: &FileFacts,
        cx: &Context,
    ) -> Result<Skipped, RdbError> {
        let mut effects = Effects::new(self.server.log.get().is_some(), false);
        let mut keys = Keys::new(&self.layout, &self.versions, HeldShards::written(number, shard));
        let inserted = self.insert_all(&mut keys, parcel, facts, &mut effects);
        // Also after an error, for those before it.
        self.record(cx.worker(), &effects, &mut keys);
        self.count_growth(cx.worker(), &mut keys);
        inserted
    }

    /// Inserts records, up to the first that is not accepted.
    fn insert_all(
        &self,
        keys: &mut Keys<'_>,
        parcel: &Parcel,
        facts: &FileFacts,
        effects: &mut Effects,
    ) -> Result<Skipped, RdbError> {
        facts.sizes.iter().for_each(|&(database, count)| keys.prepare(database, count));
        let (mut items, mut skipped) = (parcel.items(), (0, 0));
        let mut group = Vec::with_capacity(FETCHED_AT_ONCE);
        loop {
            group.clear();
            group.extend(items.by_ref().take(FETCHED_AT_ONCE));
            if group.is_empty() {
                return Ok(skipped);
            }
            keys.fetch_places(group.iter().map(|item| (item.database, item.hash)));
            for item in &group {
                self.insert_record(keys, item, facts, effects, &mut skipped)?;
            }
        }
    }

    fn insert_record(
        &self,
        keys: &mut Keys<'_>,
        item: &Item<'_>,
        facts: &FileFacts,
        effects: &mut Effects,
        skipped: &mut Skipped,
    ) -> Result<(), RdbError> {
        let Item { hash, database, key, value, expires_at, .. } = *item;
        let has_expired = expires_at.is_some_and(|at| at < facts.expires_before);
        keys.begin(database, facts.now);
        keys.note_hash(key, hash);
        let text = plain_text(item.code, value).filter(|_| !effects.records_commands());
        let is_new = match text {
            _ if has_expired && text.is_some() => {
                skipped.0 += 1;
                return Ok(());
            }
            Some(text) => keys.insert_new_text(key, text, expires_at),
            None => {
                let limits = self.server.settings.value_limits();
                let Some(value) = decode_value(item.code, value, item.offset, &limits)? else {
                    skipped.1 += 1;
                    return Ok(());
                };
                if has_expired {
                    skipped.0 += 1;
                    return Ok(());
                }
                let effect = effects.commands.len();
                effects.restore(database, key, &value, expires_at);
                let is_new = keys.insert_new(key, value, expires_at);
                if !is_new {
                    effects.commands.truncate(effect);
                }
                is_new
            }
        };
        if !is_new {
            return Err(RdbError::new(item.offset, RdbErrorKind::DuplicateKey(key.into())));
        }
        if let Some(idle) = item.idle_seconds {
            keys.set_idle_seconds(key, idle);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_has_its_records() {
        let record = |key: &'static [u8], expires_at, idle_seconds| RecordView {
            database: 3,
            key,
            expires_at,
            idle_seconds,
            code: 5,
            bytes: b"value",
            offset: u64::MAX - 1,
        };
        let records = [
            record(b"", None, None),
            record(b"one", Some(u64::MAX), None),
            record(b"two", None, Some(0)),
            record(b"three", Some(0), Some(u64::MAX)),
        ];
        let mut parcel = Parcel::default();
        records.iter().for_each(|record| parcel.add(7, 3, record, 16));
        let items: Vec<_> = parcel.items().collect();
        assert_eq!(items.len(), records.len());
        for (item, record) in items.iter().zip(&records) {
            assert_eq!((item.hash, item.database, item.code, item.value), (7, 3, 5, &b"value"[..]));
            assert_eq!((item.key, item.offset), (record.key, record.offset));
            assert_eq!((item.expires_at, item.idle_seconds), (record.expires_at, record.idle_seconds));
        }
        assert_eq!(Parcel::default().items().count(), 0);
    }
}
