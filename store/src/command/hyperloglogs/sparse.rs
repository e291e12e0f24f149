//! Registers as runs of equal ones.
//!
//! | bits | run |
//! |---|---|
//! | `00nnnnnn` | `n + 1` registers that are 0 |
//! | `01nnnnnn nnnnnnnn` | `n + 1` registers that are 0 |
//! | `1vvvvvnn` | `n + 1` registers that are `v + 1` |

use super::element::REGISTERS;
use smallvec::SmallVec;

/// The greatest number of a register in a run.
pub(super) const GREATEST: u8 = 32;
/// The longest run of a number that is not 0.
const LONGEST_RUN: usize = 4;
/// The longest run of zeros that is one byte.
const LONGEST_SHORT: usize = 64;
/// Runs that are looked at for neighbors to unite with after a change, from the one before it on.
const LOOKED_AT: usize = 5;

/// A run of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SparseRun {
    pub(super) number: u8,
    pub(super) len: usize,
    /// Whether it is of zeros and has two bytes.
    pub(super) is_wide: bool,
}

/// The runs are not those of all registers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CorruptRuns;

/// What has become of a register.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RaiseOutcome {
    /// It was not less.
    Same,
    Changed,
    /// Runs would take too many bytes, or cannot have the number.
    TooLarge,
}

impl SparseRun {
    /// Makes a run of zeros.
    fn zeros(len: usize) -> Self {
        Self { number: 0, len, is_wide: len > LONGEST_SHORT }
    }

    fn of(number: u8, len: usize) -> Self {
        if number == 0 { Self::zeros(len) } else { Self { number, len, is_wide: false } }
    }

    /// Reads the first run of bytes that are not empty.
    fn read(bytes: &[u8]) -> Self {
        let low = usize::from(bytes[0] & 63);
        match bytes[0] >> 6 {
            0 => Self { number: 0, len: low + 1, is_wide: false },
            // As in Redis, where a zero follows the end.
            1 => {
                let next = bytes.get(1).copied().unwrap_or(0);
                Self { number: 0, len: (low << 8 | usize::from(next)) + 1, is_wide: true }
            }
            _ => Self { number: (bytes[0] >> 2 & 31) + 1, len: low % LONGEST_RUN + 1, is_wide: false },
        }
    }

    /// Returns the number of its bytes.
    fn width(self) -> usize {
        1 + usize::from(self.is_wide)
    }

    fn write(self, bytes: &mut SmallVec<[u8; 6]>) {
        let len = self.len - 1;
        match self {
            Self { is_wide: true, .. } => bytes.extend([64 | (len >> 8) as u8, len as u8]),
            Self { number: 0, .. } => bytes.push(len as u8),
            Self { number, .. } => bytes.push(128 | (number - 1) << 2 | len as u8),
        }
    }
}

/// Iterates over the runs.
pub(super) fn runs(mut bytes: &[u8]) -> impl Iterator<Item = SparseRun> {
    std::iter::from_fn(move || {
        let run = (!bytes.is_empty()).then(|| SparseRun::read(bytes))?;
        bytes = bytes.get(run.width()..).unwrap_or(&[]);
        Some(run)
    })
}

/// Returns runs for registers that are all 0.
pub(super) fn empty() -> SmallVec<[u8; 6]> {
    let mut bytes = SmallVec::new();
    SparseRun::zeros(REGISTERS).write(&mut bytes);
    bytes
}

/// Returns true if the runs are those of all registers, and none is cut off.
pub(super) fn are_sound(bytes: &[u8]) -> bool {
    let (mut width, mut registers) = (0, 0);
    for run in runs(bytes) {
        width += run.width();
        registers += run.len;
    }
    width == bytes.len() && registers == REGISTERS
}

/// Calls a function with the registers that are not 0.
///
/// # Errors
///
/// If the runs do not end with the last register. The function was called for some of them.
pub(super) fn for_each(bytes: &[u8], mut visit: impl FnMut(usize, u8)) -> Result<(), CorruptRuns> {
    let mut first = 0;
    for run in runs(bytes) {
        let next = first + run.len;
        if next > REGISTERS {
            return Err(CorruptRuns);
        }
        if run.number > 0 {
            (first..next).for_each(|index| visit(index, run.number));
        }
        first = next;
    }
    if first == REGISTERS { Ok(()) } else { Err(CorruptRuns) }
}

/// Where a register lies.
struct RunPosition {
    /// Where the run before begins; that of the register itself if it is the first.
    before: usize,
    at: usize,
    /// The first register of the run.
    first: usize,
    run: SparseRun,
}

fn find(bytes: &[u8], index: usize) -> Result<RunPosition, CorruptRuns> {
    let (mut before, mut at, mut first) = (0, 0, 0);
    for run in runs(bytes) {
        if index < first + run.len {
            // A run that is cut off cannot be replaced.
            let is_whole = at + run.width() <= bytes.len();
            return if is_whole { Ok(RunPosition { before, at, first, run }) } else { Err(CorruptRuns) };
        }
        before = at;
        at += run.width();
        first += run.len;
    }
    Err(CorruptRuns)
}

/// Sets a register to a number that is greater. The runs begin at `start`, and all bytes may be
/// `limit` at most.
pub(super) fn raise(
    bytes: &mut Vec<u8>,
    start: usize,
    index: usize,
    number: u8,
    limit: usize,
) -> Result<RaiseOutcome, CorruptRuns> {
    if number > GREATEST {
        return Ok(RaiseOutcome::TooLarge);
    }
    let RunPosition { before, at, first, run } = find(&bytes[start..], index)?;
    if run.number >= number {
        return Ok(RaiseOutcome::Same);
    }
    let mut parts = SmallVec::new();
    let (left, right) = (index - first, first + run.len - 1 - index);
    for (number, len) in [(run.number, left), (number, 1), (run.number, right)] {
        if len > 0 {
            SparseRun::of(number, len).write(&mut parts);
        }
    }
    // A wide run may be short, if another program has written it.
    if parts.len() > run.width() && bytes.len() + parts.len() - run.width() > limit {
        return Ok(RaiseOutcome::TooLarge);
    }
    let at = start + at;
    bytes.splice(at..at + run.width(), parts);
    if !planted!("runs-not-united") {
        unite(bytes, start + before);
    }
    Ok(RaiseOutcome::Changed)
}

/// Unites runs of the same number, where a change may have made neighbors of them.
fn unite(bytes: &mut Vec<u8>, mut at: usize) {
    for _ in 0..LOOKED_AT {
        if at >= bytes.len() {
            return;
        }
        let run = SparseRun::read(&bytes[at..]);
        let next = bytes.get(at + 1).map(|_| SparseRun::read(&bytes[at + 1..]));
        let is_same = |next: &SparseRun| next.number == run.number && next.len + run.len <= LONGEST_RUN;
        match next.filter(|next| run.number > 0 && is_same(next)) {
            // It may be united with one more.
            Some(next) => {
                let mut united = SmallVec::new();
                SparseRun::of(run.number, run.len + next.len).write(&mut united);
                bytes.splice(at..at + 2, united);
            }
            None => at += run.width(),
        }
    }
}
