//! The workloads as plain sequential programs.

use super::tree::Node;

/// Counts the nodes of the unbalanced tree.
pub(super) fn tree(depth: u32) -> u64 {
    fn count(node: &Node) -> u64 {
        1 + (0..node.children()).map(|number| count(&node.child(number))).sum::<u64>()
    }
    count(&Node::root(depth))
}

/// Counts the ways to place queens.
pub(super) fn queens(queens: u32) -> u64 {
    /// Counts the ways to place queens in the rows below, without the attacked columns: straight
    /// down, to the left and to the right.
    fn count(all: u32, down: u32, left: u32, right: u32) -> u64 {
        if down == all {
            return 1;
        }
        let mut free = all & !(down | left | right);
        let mut ways = 0;
        while free != 0 {
            let column = free & free.wrapping_neg();
            free ^= column;
            ways += count(all, down | column, (left | column) << 1, (right | column) >> 1);
        }
        ways
    }
    count((1 << queens) - 1, 0, 0, 0)
}

/// Adds up the numbers of the leaves below a node.
pub(super) fn skynet(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let each = leaves / 10;
    (0..10).map(|child| skynet(first + child * each, each)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::workload::Problem;
    use super::*;

    #[test]
    fn known_outcomes_are_found() {
        for size in 1..9 {
            assert!(Problem::Queens(size).check(queens(size), &Problem::Queens(size).expected()).is_ok());
        }
        for leaves in [1, 10, 1000] {
            assert_eq!(skynet(0, leaves), leaves * (leaves - 1) / 2);
        }
        assert_eq!(tree(0), 1);
        assert_eq!(tree(1), 1 + u64::from(Node::root(1).children()));
        // A deeper tree begins with the same nodes.
        assert!(tree(4) > tree(3) && tree(3) > tree(2));
    }
}
