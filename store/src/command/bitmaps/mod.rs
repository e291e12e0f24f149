//! Commands on the bits of strings. The first bit is the highest of the first byte.
//!
//! | file | contents |
//! |---|---|
//! | `table` | their entries in the table of commands |
//! | `bits` | SETBIT and GETBIT; how a string is read and grown |
//! | `search` | BITCOUNT and BITPOS |
//! | `operation` | BITOP |
//! | `field` | BITFIELD: its arguments, and what it does |
//! | `field_type` | [`FieldType`](field_type::FieldType): integers of 1 to 64 bits |

mod bits;
mod field;
mod field_type;
mod operation;
mod search;
mod table;

pub(super) use table::COMMANDS;
