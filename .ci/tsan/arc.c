/* Lets ThreadSanitizer see that the last owner of an Arc comes after all others.
 *
 * std's Arc counts down by a Release and, at zero, issues an Acquire fence. ThreadSanitizer knows no fences (a std that
 * is built for it has a load in its place; the one that comes with Rust is not), and would call each drop of what an
 * Arc holds a race. So a subtraction that releases acquires as well. No code of this repository relies on that:
 * where it subtracts by Release alone, what follows does not depend on others (`unlock_shared`, `take_back`).
 */
enum { RELEASE = 3, ACQ_REL = 4 };

unsigned long __real___tsan_atomic64_fetch_sub(volatile unsigned long *word, unsigned long value, int order);

unsigned long __wrap___tsan_atomic64_fetch_sub(volatile unsigned long *word, unsigned long value, int order) {
    return __real___tsan_atomic64_fetch_sub(word, value, order == RELEASE ? ACQ_REL : order);
}
