//! Work that divides itself.

use xtasking::Fork;

/// Halves the work until a leaf is left, and runs that. Returns the number of leaves.
pub fn divide(leaves: u64, leaf: &(impl Fn() + Sync), mut cx: Fork<'_>) -> u64 {
    if leaves == 1 {
        leaf();
        return 1;
    }
    let (left, right) = (leaves / 2, leaves - leaves / 2);
    let (left, right) = cx.join(|cx| divide(left, leaf, cx), |cx| divide(right, leaf, cx));
    left + right
}
