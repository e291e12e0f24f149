//! The protocol: requests that are received, and replies that are written. Knows no command.
//!
//! | file | contents |
//! |---|---|
//! | `args` | [`Requests`] and the [`Args`] of one |
//! | `parser` | [`Parser`]: bytes become requests |
//! | `inline` | requests without a length, as a person types them |
//! | `reply` | [`Reply`]: values become bytes |
//! | `count` | counts replies that were written |
//! | `number` | numbers as Redis reads and writes them |

mod args;
mod count;
mod inline;
mod number;
mod parser;
mod reply;

pub use args::{Args, Requests};
pub(crate) use count::each_reply;
pub(crate) use inline::words;
pub use number::{format_double, parse_double, parse_integer};
pub use parser::{Limits, Parser, ProtocolError};
pub use reply::{Protocol, Reply};
