//! Values as they are read, wherever they are kept.

use super::{Hash, List, Set, SortedSet, Stream, StringRef, StringValue, Value};
use crate::command::CommandError;

macro_rules! views {
    ($($variant:ident($type:ty) = $name:literal, $get:ident, $noun:literal;)*) => {
        /// The value of a key, to be read. A copy is as good.
        #[derive(Clone, Copy, Debug)]
        pub enum ValueRef<'v> {
            $(#[doc = concat!("A ", $noun, ".")] $variant($type),)*
        }

        impl<'v> ValueRef<'v> {
            /// Returns the name that TYPE gives.
            pub fn type_name(self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Returns the name that OBJECT ENCODING gives.
            pub fn encoding(self) -> &'static str {
                match self {
                    $(Self::$variant(value) => value.encoding(),)*
                }
            }

            $(
                #[doc = concat!("Returns the ", $noun, ".")]
                ///
                /// # Errors
                ///
                /// [`CommandError::WRONG_TYPE`] if it is none.
                #[inline]
                pub fn $get(self) -> Result<$type, CommandError> {
                    match self {
                        Self::$variant(value) => Ok(value),
                        _ => Err(CommandError::WRONG_TYPE),
                    }
                }
            )*
        }
    };
}

views! {
    String(StringRef<'v>) = "string", as_string, "string";
    List(&'v List) = "list", as_list, "list";
    Hash(&'v Hash) = "hash", as_hash, "hash";
    Set(&'v Set) = "set", as_set, "set";
    SortedSet(&'v SortedSet) = "zset", as_sorted_set, "sorted set";
    Stream(&'v Stream) = "stream", as_stream, "stream";
}

impl<'v> From<&'v Value> for ValueRef<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::String(value) => Self::String(value.into()),
            Value::List(value) => Self::List(value),
            Value::Hash(value) => Self::Hash(value),
            Value::Set(value) => Self::Set(value),
            Value::SortedSet(value) => Self::SortedSet(value),
            Value::Stream(value) => Self::Stream(value),
        }
    }
}

impl ValueRef<'_> {
    /// Returns a copy of the value.
    pub fn to_value(self) -> Value {
        match self {
            Self::String(StringRef::Integer(number)) => Value::String(StringValue::Integer(number)),
            Self::String(StringRef::Fixed(bytes)) => Value::String(StringValue::fixed(bytes)),
            Self::String(StringRef::Growing(bytes)) => Value::String(StringValue::Growing(bytes.to_vec())),
            Self::List(value) => Value::List(Box::new(value.clone())),
            Self::Hash(value) => Value::Hash(Box::new(value.clone())),
            Self::Set(value) => Value::Set(Box::new(value.clone())),
            Self::SortedSet(value) => Value::SortedSet(Box::new(value.clone())),
            Self::Stream(value) => Value::Stream(Box::new(value.clone())),
        }
    }
}
