//! The setting of the databases that have their keys in order.

use super::{Setting, SettingError, SettingKind, SettingSpec, Settings};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the setting is still to have its effect.
#[derive(Debug, Default)]
pub(super) struct OrderDue(AtomicBool);

impl OrderDue {
    pub(super) fn note(&self) {
        // Release pairs with the Acquire of `take`: with this the value is there.
        self.0.store(true, Ordering::Release);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Acquire)
    }
}

/// Reads numbers of databases with spaces between them; `None` for all.
pub(super) fn parse(text: &str) -> Result<Option<Vec<usize>>, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(None);
    }
    let wrong = || "argument must be numbers of databases, or 'all'".to_owned();
    let number = |word: &str| word.parse::<u32>().map(|number| number as usize).map_err(|_| wrong());
    text.split_ascii_whitespace().map(number).collect::<Result<_, _>>().map(Some)
}

impl Settings {
    /// Checks that the databases which a value names are there.
    pub(super) fn check_databases(&self, spec: &SettingSpec, value: &str) -> Result<(), SettingError> {
        if spec.kind != SettingKind::Databases {
            return Ok(());
        }
        let numbers = parse(value).map_err(SettingError::Refused)?.unwrap_or_default();
        let databases = self.number(Setting::Databases) as usize;
        let unknown = numbers.into_iter().find(|number| *number >= databases);
        let refused = |number| SettingError::Refused(format!("there is no database {number}"));
        unknown.map_or(Ok(()), |number| Err(refused(number)))
    }

    /// Returns for each database whether its keys are to be in order.
    pub(crate) fn ordered_databases(&self) -> Vec<bool> {
        let databases = self.number(Setting::Databases) as usize;
        match parse(&self.text(Setting::OrderedDatabases)) {
            Ok(None) => vec![true; databases],
            named => {
                let named = named.ok().flatten().unwrap_or_default();
                (0..databases).map(|number| named.contains(&number)).collect()
            }
        }
    }

    /// Returns true once after the databases in order were set.
    pub(crate) fn take_order_due(&self) -> bool {
        self.order_due.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_named_by_their_numbers() {
        for (text, expected) in [("", [false; 4]), (" 2  0", [true, false, true, false]), ("ALL", [true; 4])]
        {
            let settings = Settings::new(4);
            assert_eq!(settings.set("ordered-databases", text), Ok(()));
            assert_eq!(settings.ordered_databases(), expected, "{text}");
        }
        for wrong in ["x", "-1", "all 1", "1,2"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_setting_has_its_effect_once() {
        let settings = Settings::new(4);
        assert!(!settings.take_order_due());
        assert_eq!(settings.set("ordered-databases", "All"), Ok(()));
        assert!(settings.take_order_due() && !settings.take_order_due());
        assert_eq!(settings.text(Setting::OrderedDatabases), "all");
        let index = Settings::find(b"ordered-databases").unwrap();
        for wrong in ["4", "one"] {
            assert!(matches!(settings.check(index, wrong), Err(SettingError::Refused(_))), "{wrong}");
            assert!(matches!(settings.set("ordered-databases", wrong), Err(SettingError::Refused(_))));
        }
        assert_eq!(settings.check(index, "3 1"), Ok(()));
    }
}
