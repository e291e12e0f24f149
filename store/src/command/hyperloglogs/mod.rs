//! Commands on HyperLogLogs: strings that count different elements, about, in 12 KiB at most.
//!
//! The hash of an element chooses one of 16,384 registers, and offers it the number of zeros at the
//! end of what is left of the hash, and one. A register keeps the greatest number. From how many
//! registers have which number the elements are estimated, with a standard error of 0.81%.
//!
//! The strings are those of Redis:
//!
//! | bytes | contents |
//! |---|---|
//! | 0 to 3 | `HYLL` |
//! | 4 | the encoding: 0 for dense, 1 for sparse |
//! | 5 to 7 | nothing |
//! | 8 to 15 | the last estimate, the lowest byte first; it is old if the highest bit is set |
//! | from 16 on | the registers |
//!
//! | file | contents |
//! |---|---|
//! | `table` | their entries in the table of commands |
//! | `commands` | PFADD, PFCOUNT, PFMERGE |
//! | `debug` | PFDEBUG and PFSELFTEST |
//! | `sketch` | [`Sketch`](sketch::Sketch): such a string, to be read or changed |
//! | `dense` | registers of six bits each |
//! | `sparse` | registers as runs of equal ones |
//! | `element` | what the hash of an element says |
//! | `estimate` | the estimate |

mod commands;
mod debug;
mod dense;
mod element;
mod estimate;
mod sketch;
mod sparse;
mod table;

pub(super) use table::COMMANDS;
