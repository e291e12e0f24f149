//! The results of an experiment, as a table, as JSON and as a figure.
//!
//! | module | what it holds |
//! |---|---|
//! | `results` | the measurements, with the machine and the parameters |
//! | `summary` | median, minimum and maximum of the repetitions |
//! | `table` | the table on the terminal |
//! | `json` | the JSON object |
//! | `plot` | the figure |
//! | `output` | writing a report to files |
//! | [`mod@file`] | atomic file writing |

pub mod file;
mod json;
mod output;
mod plot;
mod results;
mod summary;
mod table;

pub use output::write;
pub use results::{Measurement, Parameters, Report, set_speed_ups};
pub use summary::Summary;
pub use table::render as table;
