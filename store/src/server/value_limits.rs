//! The settings of the sizes up to which values are compact.

use super::{Setting, Settings};
use crate::value::CompactLimits;

impl Settings {
    /// Returns the sizes up to which values are compact.
    pub fn value_limits(&self) -> CompactLimits {
        let size = |setting| usize::try_from(self.number(setting)).unwrap_or(0);
        let chunk = self.number(Setting::ListMaxListpackSize);
        CompactLimits {
            list_max_listpack_size: i32::try_from(chunk).unwrap_or(-2),
            hash_max_listpack_entries: size(Setting::HashMaxListpackEntries),
            hash_max_listpack_value: size(Setting::HashMaxListpackValue),
            set_max_intset_entries: size(Setting::SetMaxIntsetEntries),
            set_max_listpack_entries: size(Setting::SetMaxListpackEntries),
            set_max_listpack_value: size(Setting::SetMaxListpackValue),
            zset_max_listpack_entries: size(Setting::ZsetMaxListpackEntries),
            zset_max_listpack_value: size(Setting::ZsetMaxListpackValue),
            stream_node_max_bytes: size(Setting::StreamNodeMaxBytes),
            stream_node_max_entries: size(Setting::StreamNodeMaxEntries),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_redis_at_first() {
        let settings = Settings::new(1);
        assert_eq!(settings.value_limits(), CompactLimits::default());
        assert_eq!(settings.set("zset-max-ziplist-value", "7"), Ok(()));
        assert_eq!(settings.value_limits().zset_max_listpack_value, 7);
    }
}
