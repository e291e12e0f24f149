//! Random bits, which the processor makes.

use core::arch::asm;
use core::arch::x86_64::__cpuid;

/// In ECX of leaf 1: the processor has the instruction RDRAND.
const HAS_RDRAND: u32 = 1 << 30;
/// How often the instruction may find no bits, as other cores have taken them.
const ATTEMPTS: usize = 64;

/// Returns random bits, or `None` if the processor makes none.
pub(crate) fn word() -> Option<u64> {
    if __cpuid(1).ecx & HAS_RDRAND == 0 {
        return None;
    }
    // Some processors are known to give all ones, and call that success.
    (0..ATTEMPTS).find_map(|_| attempt().filter(|&word| word != 0 && word != u64::MAX))
}

fn attempt() -> Option<u64> {
    let (word, is_random): (u64, u8);
    // SAFETY: the processor has the instruction, which changes nothing but a register and flags.
    unsafe {
        asm!(
            "rdrand {word}",
            "setc {is_random}",
            word = out(reg) word,
            is_random = out(reg_byte) is_random,
            options(nomem, nostack)
        );
    }
    (is_random == 1).then_some(word)
}
