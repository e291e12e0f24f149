//! The searches by AVX-512.
//!
//! A vector comparison returns a bit for each word. In ascending words, the lowest bit of those not
//! below (or above) a key tells how many words come before. A bit is set behind the last word, so
//! that the result is in its range whatever the words are.
//!
//! Only AVX-512 F is needed. Counting the bits would take an instruction that not every x86-64
//! processor has, so that the compiler would replace it by many others.

use super::{LINE_WORDS, SEPARATORS};
use core::arch::asm;
use core::hint::cold_path;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use xtasking::Word;

/// Proof that the processor and the operating system support AVX-512 F.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

/// The predicates of `vpcmpuq`: how the key compares with a word.
const LESS: i32 = 1;
const LESS_OR_EQUAL: i32 = 2;

/// Whether [`Avx512::detect`] has found support.
static IS_SUPPORTED: AtomicBool = AtomicBool::new(false);

impl Avx512 {
    /// Asks the processor whether it has AVX-512 F, for later calls of [`get`](Self::get).
    ///
    /// Miri, model checkers and sanitizers do not see accesses of inline assembly, so they use the
    /// portable searches. In model checkers a word is not a plain word of memory, either.
    pub(super) fn detect() {
        let is_watched =
            cfg!(any(miri, model = "loom", model = "shuttle", sanitizer = "address", sanitizer = "thread"));
        // Stored once, so that the line stays in the caches of all processors.
        if !is_watched && !IS_SUPPORTED.load(Relaxed) && std::arch::is_x86_feature_detected!("avx512f") {
            IS_SUPPORTED.store(true, Relaxed);
        }
    }

    /// Returns the proof, or `None` if the portable searches are to be used.
    ///
    /// This is one load and one branch. The flag orders nothing: a thread that does not see it set
    /// uses the portable searches.
    #[inline(always)]
    pub(super) fn get() -> Option<Self> {
        #[cfg(test)]
        if super::tests::is_portable_forced() {
            return None;
        }
        if !IS_SUPPORTED.load(Relaxed) {
            // The code of the vectors comes first, so that it is reached without a jump.
            cold_path();
            return None;
        }
        Some(Self(()))
    }

    /// See [`lower_bound`](super::lower_bound).
    #[inline(always)]
    pub(super) fn lower_bound(self, keys: &[Word; LINE_WORDS], key: u64) -> usize {
        let not_below = self.compare::<LESS_OR_EQUAL>(keys, key);
        (not_below | 1 << (LINE_WORDS - 1)).trailing_zeros() as usize
    }

    /// See [`last_not_above`](super::last_not_above).
    #[inline(always)]
    pub(super) fn last_not_above(self, keys: &[Word; LINE_WORDS], key: u64) -> usize {
        // The first key is not asked for, so that the index is one less than the number.
        let above = self.compare::<LESS>(keys, key) >> 1;
        (above | 1 << (LINE_WORDS - 1)).trailing_zeros() as usize
    }

    /// See [`count_not_above`](super::count_not_above).
    #[inline(always)]
    pub(super) fn count_not_above(self, separators: &[Word; SEPARATORS], key: u64) -> usize {
        (self.above(separators, key) | 1 << SEPARATORS).trailing_zeros() as usize
    }

    /// Returns a bit for each word, from the lowest on: whether `key` is less (or less or equal).
    ///
    /// The words are atomic, and other threads may store them meanwhile. The compiler knows of the
    /// assembly only what is declared, so the abstract machine may be given any code that returns
    /// the same: here a relaxed load of each word (`Word::get`), in any order. The processor loads
    /// each aligned word of a vector whole, as processors do, though the manuals promise it for
    /// single words only. Nothing rests on it: halves of different stores would be one more word
    /// that was never stored, as torn nodes have them; the result stays in its range, and is not
    /// used unless the node's version shows that nothing was stored. No link and no value is read
    /// this way.
    ///
    /// Relaxed loads are ordered by the fences and the acquire loads around them, which validate
    /// the version. For the compiler, assembly that is not `nomem` does not move across these. The
    /// processor does not reorder loads, of vectors or words, on x86-64.
    #[inline(always)]
    fn compare<const PREDICATE: i32>(self, words: &[Word; LINE_WORDS], key: u64) -> u32 {
        let bits: u32;
        // SAFETY: `self` proves that the processor has these instructions. They read the words that
        // the reference covers, write no memory and use no stack; the registers that they change
        // are declared. Above is why they may read beside stores.
        unsafe {
            asm!(
                "vpbroadcastq zmm16, {key}",
                "vpcmpuq k1, zmm16, [{words}], {predicate}",
                "kmovw {bits:e}, k1",
                key = in(reg) key,
                words = in(reg) words.as_ptr(),
                predicate = const PREDICATE,
                bits = lateout(reg) bits,
                out("zmm16") _,
                out("k1") _,
                options(readonly, nostack, preserves_flags),
            );
        }
        bits
    }

    /// Returns a bit for each separator, from the lowest on: whether it is above `key`.
    ///
    /// Separators share a cache line with the two words before them, which belong to the object's
    /// header. A vector from there on is in one line; the two words are masked out of it.
    #[inline(always)]
    fn above(self, separators: &[Word; SEPARATORS], key: u64) -> u32 {
        const BEFORE: usize = LINE_WORDS - SEPARATORS;
        let mut bits: u32 = (1 << LINE_WORDS) - (1 << BEFORE);
        // SAFETY: as in `compare`. The instruction does not access the words whose bits in the mask
        // are 0: of eight words from `BEFORE` words ahead of the separators on, it reads those that
        // the reference covers.
        unsafe {
            asm!(
                "kmovw k1, {bits:e}",
                "vpbroadcastq zmm16, {key}",
                "vpcmpuq k1 {{k1}}, zmm16, [{separators} - {before}], {predicate}",
                "kmovw {bits:e}, k1",
                key = in(reg) key,
                separators = in(reg) separators.as_ptr(),
                before = const BEFORE * size_of::<Word>(),
                predicate = const LESS,
                bits = inout(reg) bits,
                out("zmm16") _,
                out("k1") _,
                options(readonly, nostack, preserves_flags),
            );
        }
        bits >> BEFORE
    }
}
