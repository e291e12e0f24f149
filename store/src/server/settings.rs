//! What CONFIG reads and sets.

use super::ordered::OrderDue;
use super::persistence::save_points;
use super::registry::{REGISTRY, Setting, SettingKind, SettingSpec};
use super::{notifications, ordered, percentiles};
use crate::log::{PolicySource, SyncPolicy};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Why a setting was not set. The texts are Redis' own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// There is none of this name.
    Unknown,
    /// The value is not taken; why.
    Refused(String),
}

impl SettingError {
    /// Returns what is wrong with a setting of this name and value.
    pub fn text(&self, name: &str, value: &str) -> String {
        match self {
            Self::Unknown => format!("there is no setting {name}"),
            Self::Refused(why) => format!("{name} cannot be {value}: {why}"),
        }
    }
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
