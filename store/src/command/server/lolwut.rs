//! LOLWUT: a picture, and the version.

use super::super::{Call, CommandResult};
use crate::server::REDIS_VERSION;

const COLUMNS: usize = 66;
const ROWS: usize = 20;

/// Draws the cellular automaton of rule 30 from cells at random. Its options are those of pictures
/// that Redis has.
pub(super) fn lolwut(call: &mut Call<'_, '_>) -> CommandResult {
    let mut cells: Vec<bool> = (0..COLUMNS).map(|_| call.random().is_multiple_of(8)).collect();
    let mut picture = String::new();
    for _ in 0..ROWS {
        picture.extend(cells.iter().map(|is_set| if *is_set { '#' } else { ' ' }));
        picture.push('\n');
        let at = |column: usize| cells[column % COLUMNS];
        cells = (0..COLUMNS).map(|column| at(column + COLUMNS - 1) ^ (at(column) | at(column + 1))).collect();
    }
    let version = env!("CARGO_PKG_VERSION");
    picture += &format!("\nxtasking-store ver. {version}, Redis ver. {REDIS_VERSION}\n");
    call.reply.verbatim("txt", picture.as_bytes());
    call.done()
}
