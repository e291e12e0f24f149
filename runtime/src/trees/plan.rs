//! Requests: the nodes that a task names, at once or by a plan that looks at the tree.

use super::inner::TreePtr;
use super::nodes::Nodes;
use super::probe::{PlanProbe, RunPlan, Targets};
use super::rights::Target;
use super::tree_plan::TreePlan;
use crate::task::{JoinError, catch};

/// What a claim asks for, and what its body gets. Only this crate implements it.
pub trait Request: RunPlan + 'static {
    /// The data of the nodes.
    type Data: Send + Sync + 'static;
    /// What the body of the task gets.
    type Held<'h>;
    /// True if the request holds user values, whose destructors may panic.
    #[doc(hidden)]
    const HAS_USER_VALUES: bool;

    #[doc(hidden)]
    fn tree(&self) -> TreePtr<Self::Data>;

    /// Makes what the body gets of the nodes that the task holds.
    #[doc(hidden)]
    fn held<'h>(&mut self, nodes: Nodes<'h, Self::Data>) -> Self::Held<'h>;
}

/// Nodes that are named at once.
pub struct Named<D: Send + Sync + 'static> {
    pub(super) tree: TreePtr<D>,
    pub(super) targets: Targets,
}

impl<D: Send + Sync + 'static> RunPlan for Named<D> {
    #[inline(always)]
    fn only(&self) -> Option<&Target> {
        if let [target] = &*self.targets { Some(target) } else { None }
    }

    #[inline(always)]
    fn has_memory(&self) -> bool {
        self.targets.has_memory()
    }

    #[inline(always)]
    fn run(&mut self, probe: &mut PlanProbe<'_>) -> Result<(), JoinError> {
        self.targets.iter().for_each(|&target| _ = probe.add(target));
        Ok(())
    }
}

impl<D: Send + Sync + 'static> Request for Named<D> {
    type Data = D;
    type Held<'h> = Nodes<'h, D>;
    const HAS_USER_VALUES: bool = false;

    fn tree(&self) -> TreePtr<D> {
        self.tree
    }

    fn held<'h>(&mut self, nodes: Nodes<'h, D>) -> Nodes<'h, D> {
        nodes
    }
}

/// Nodes that a plan names, and what it has found.
pub struct Planned<D: Send + Sync + 'static, P, R> {
    pub(super) tree: TreePtr<D>,
    pub(super) plan: P,
    /// What the last run has returned.
    pub(super) found: Option<R>,
}

impl<D, P, R> RunPlan for Planned<D, P, R>
where
    D: Send + Sync + 'static,
    P: FnMut(&mut TreePlan<'_, '_, D>) -> R + Send,
    R: Send,
{
    fn run(&mut self, probe: &mut PlanProbe<'_>) -> Result<(), JoinError> {
        let Self { tree, plan, found } = self;
        // SAFETY: the tree is kept for the task of the claim that this is a part of.
        let tree = unsafe { tree.get() };
        let outcome = catch(|| *found = Some(plan(&mut TreePlan { tree, probe })));
        outcome.map_err(JoinError::panicked)
    }
}

impl<D, P, R> Request for Planned<D, P, R>
where
    D: Send + Sync + 'static,
    P: FnMut(&mut TreePlan<'_, '_, D>) -> R + Send + 'static,
    R: Send + 'static,
{
    type Data = D;
    type Held<'h> = (R, Nodes<'h, D>);
    const HAS_USER_VALUES: bool = true;

    fn tree(&self) -> TreePtr<D> {
        self.tree
    }

    fn held<'h>(&mut self, nodes: Nodes<'h, D>) -> (R, Nodes<'h, D>) {
        (self.found.take().expect("the last run of the plan was complete"), nodes)
    }
}
