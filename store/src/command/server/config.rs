//! CONFIG.

use super::super::error::printed;
use super::super::{Call, CommandError, CommandResult};
use crate::glob;
use crate::server::{Setting, SettingError, SettingKind, Settings};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(super) fn get(call: &mut Call<'_, '_>) -> CommandResult {
    let mut found = BTreeMap::new();
    for pattern in call.args.skip(2).iter() {
        let pattern = pattern.to_ascii_lowercase();
        for (index, spec) in Settings::registry().iter().enumerate() {
            for name in [Some(spec.name), spec.alias].into_iter().flatten() {
                if glob::matches(&pattern, name.as_bytes()) {
                    found.insert(name, index);
                }
            }
        }
    }
    call.reply.map(found.len());
    for (name, index) in found {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(call.server.settings.shown(index).as_bytes());
    }
    call.done()
}

fn refused(name: &[u8], why: &str) -> CommandError {
    let before = "ERR CONFIG SET failed (possibly related to argument '";
    CommandError::with_arg(before, name, &format!("') - {why}"))
}

/// Sets all settings of the request, or none.
pub(super) fn set(call: &mut Call<'_, '_>) -> CommandResult {
    let pairs = call.args.skip(2);
    if !pairs.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity("config|set"));
    }
    let mut checked = Vec::new();
    for at in (0..pairs.len()).step_by(2) {
        let name = pairs.at(at);
        let before = "ERR Unknown option or number of arguments for CONFIG SET - '";
        let index = Settings::find(name).ok_or_else(|| CommandError::with_arg(before, name, "'"))?;
        // Redis reads a value as a string of C.
        let value = String::from_utf8_lossy(printed(pairs.at(at + 1), usize::MAX));
        let is_text = Settings::registry()[index].kind == SettingKind::Text;
        if is_text && matches!(value, Cow::Owned(_)) {
            return Err(refused(name, "argument must be UTF-8"));
        }
        if let Err(SettingError::Refused(why)) = call.server.settings.check(index, &value) {
            return Err(refused(name, &why));
        }
        if checked.iter().any(|(known, _)| *known == index) {
            return Err(refused(name, "duplicate parameter"));
        }
        checked.push((index, value));
    }
    let sets_password = checked.iter().any(|(index, _)| *index == Setting::RequirePass as usize);
    for (index, value) in checked {
        let set = call.server.settings.set(Settings::registry()[index].name, &value);
        debug_assert_eq!(set, Ok(()), "the value was checked");
    }
    call.server.heed_settings();
    if sets_password {
        call.server.require_password();
    }
    call.effects.note_settings();
    call.ok()
}

pub(super) fn resetstat(call: &mut Call<'_, '_>) -> CommandResult {
    call.server.statistics.reset();
    call.server.memory.reset_statistics();
    call.server.acl.denials.reset_counts();
    call.ok()
}

pub(super) fn rewrite(_: &mut Call<'_, '_>) -> CommandResult {
    Err(CommandError::fixed("ERR The server is running without a config file"))
}
