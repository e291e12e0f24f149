//! ACL GENPASS.

use super::super::{Call, CommandError, CommandResult};
use super::wrong_arguments;

const MOST_BITS: i64 = 4096;
const BITS: i64 = 256;

pub(super) fn genpass(call: &mut Call<'_, '_>) -> CommandResult {
    let bits = match call.args.len() {
        2 => BITS,
        3 => call.integer_arg(2)?,
        _ => return Err(wrong_arguments(call)),
    };
    if !(1..=MOST_BITS).contains(&bits) {
        return Err(CommandError::new(format!(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number \
             up to {MOST_BITS}"
        )));
    }
    let digits = (bits as usize).div_ceil(4);
    let mut bytes = vec![0; digits.div_ceil(2)];
    getrandom::fill(&mut bytes).map_err(|error| CommandError::new(format!("ERR no random bits: {error}")))?;
    let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(digits);
    call.reply.bulk(text.as_bytes());
    call.done()
}
