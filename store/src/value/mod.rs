//! What a key holds.
//!
//! Each type has a file. Commands take a value apart by `as_…`, which fails with the error that
//! Redis gives to a command on a key of another type.

mod string;

pub use string::StringValue;

use crate::command::CommandError;

/// The value of a key.
#[derive(Clone, Debug)]
pub enum Value {
    /// Bytes, or a number.
    String(StringValue),
}

impl Value {
    /// Returns the name that TYPE gives.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
        }
    }

    /// Returns the name that OBJECT ENCODING gives.
    pub fn encoding(&self) -> &'static str {
        match self {
            Self::String(value) => value.encoding(),
        }
    }

    /// Returns the string.
    ///
    /// # Errors
    ///
    /// [`CommandError::WRONG_TYPE`] if it is none.
    pub fn as_string(&self) -> Result<&StringValue, CommandError> {
        match self {
            Self::String(value) => Ok(value),
        }
    }

    /// Returns the string, to be changed.
    ///
    /// # Errors
    ///
    /// [`CommandError::WRONG_TYPE`] if it is none.
    pub fn as_string_mut(&mut self) -> Result<&mut StringValue, CommandError> {
        match self {
            Self::String(value) => Ok(value),
        }
    }
}
