//! How a task mends what others have left in their midst.

use super::ledger::{Done, Ledger, TaskNumber};
use super::value::{Change, Value};
use xtasking_hierarchy::{Node, View};

/// What was mended.
#[derive(Default)]
pub(super) struct Mended {
    /// Nodes that were not as they should be.
    pub nodes: usize,
    /// Tasks that were finished, and what they have done.
    pub finished: Vec<(TaskNumber, Done)>,
}

/// Mends all that the task has, which is all that is poisoned.
///
/// Whoever panicked had claimed all that it has touched, and all that it had claimed to write is poisoned until a task like this
/// one has it: so what is found here of a task that is not done is all there is of it.
pub(super) fn mend(view: &mut View<'_, Value>, ledger: &Ledger) -> Mended {
    let mut mended = Mended::default();
    let nodes: Vec<Node> = view.all().map(|(node, _)| node).collect();
    for &node in &nodes {
        change(view, node, ledger, &mut mended);
    }
    for &node in &nodes {
        let is_gone = |value: &Value| value.is_new() && !ledger.is_done(value.born);
        if view.find(node).is_some_and(is_gone) {
            mended.nodes += view.remove(node).expect("what was inserted has one parent").len();
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
        mended.nodes += 1;
    }
    mended
}

/// Undoes a link, and finishes what takes something away.
fn change(view: &mut View<'_, Value>, node: Node, ledger: &Ledger, mended: &mut Mended) {
    if view.find(node).is_none_or(|value| value.step.is_none()) {
        return;
    }
    let Some(step) = view[node].step.take() else { return };
    mended.nodes += 1;
    let done = match step.change {
        Change::Removing(count) => {
            view.remove(node).expect("what was inserted has one parent");
            Done::Removed(Some((node, count)))
        }
        Change::Linking(parent) => {
            if view.children(parent).contains(&node) {
                view.unlink(parent, node).expect("it had another parent before");
            }
            return;
        }
        Change::Unlinking(parent) => {
            if view.children(parent).contains(&node) {
                view.unlink(parent, node).expect("there is another parent");
            }
            Done::Unlinked(Some(parent))
        }
    };
    ledger.note(step.task);
    mended.finished.push((step.task, done));
}
