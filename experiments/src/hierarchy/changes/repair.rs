//! Repairs what panicked tasks left half done.

use super::ledger::{ChangeResult, Ledger, TaskNumber};
use super::value::{Change, Value};
use xtasking_hierarchy::{Node, View};

/// The result of a repair.
#[derive(Default)]
pub(super) struct Repair {
    /// Nodes that were inconsistent.
    pub nodes: usize,
    /// Tasks whose removal or unlinking was finished, with their results.
    pub finished: Vec<(TaskNumber, ChangeResult)>,
}

/// Repairs everything that is poisoned, which is what the calling task holds.
///
/// A panicked task had claimed all that it touched, and what it had claimed for writing stays
/// poisoned until it is held here. So the view contains all traces of a task that is not done.
pub(super) fn repair(view: &mut View<'_, Value>, ledger: &Ledger) -> Repair {
    let mut repair = Repair::default();
    let nodes: Vec<Node> = view.all().map(|(node, _)| node).collect();
    for &node in &nodes {
        change(view, node, ledger, &mut repair);
    }
    for &node in &nodes {
        let is_gone = |value: &Value| value.is_new() && !ledger.is_done(value.inserted_by);
        if view.find(node).is_some_and(is_gone) {
            repair.nodes += view.remove(node).expect("an inserted node has one parent").len();
        }
    }
    for &node in &nodes {
        let Some(&Value { count, twin, last, .. }) = view.find(node) else { continue };
        if count != twin {
            view[node].count = twin;
        } else if last != 0 && !ledger.is_done(last) {
            let value = &mut view[node];
            (value.count, value.twin, value.last) = (count - 1, twin - 1, 0);
        } else {
            continue;
        }
        repair.nodes += 1;
    }
    repair
}

/// Undoes a link, and finishes a removal or unlinking.
fn change(view: &mut View<'_, Value>, node: Node, ledger: &Ledger, repair: &mut Repair) {
    if view.find(node).is_none_or(|value| value.step.is_none()) {
        return;
    }
    let Some(step) = view[node].step.take() else { return };
    repair.nodes += 1;
    let result = match step.change {
        Change::Removing(count) => {
            view.remove(node).expect("an inserted node has one parent");
            ChangeResult::Removed(Some((node, count)))
        }
        Change::Linking(parent) => {
            if view.children(parent).contains(&node) {
                view.unlink(parent, node).expect("the node has its former parents");
            }
            return;
        }
        Change::Unlinking(parent) => {
            if view.children(parent).contains(&node) {
                view.unlink(parent, node).expect("the node has another parent");
            }
            ChangeResult::Unlinked(Some(parent))
        }
    };
    ledger.note(step.task);
    repair.finished.push((step.task, result));
}
