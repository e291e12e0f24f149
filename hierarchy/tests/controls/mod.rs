//! The controls that tests run with: all of them with the feature `baselines`, else the only one.

use xtasking_hierarchy::HierarchyBuilder;

#[cfg(feature = "baselines")]
pub use xtasking::claims::Control;

#[cfg(feature = "baselines")]
pub const CONTROLS: [Control; 6] =
    [Control::Fifo, Control::Coarse, Control::InOrder, Control::DomLock, Control::NumLock, Control::Toggle];

/// Sets the control of a hierarchy.
#[cfg(feature = "baselines")]
pub fn controlled(builder: HierarchyBuilder, control: Control) -> HierarchyBuilder {
    builder.control(control)
}

/// The only control of builds without baselines.
#[cfg(not(feature = "baselines"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Fifo,
}

#[cfg(not(feature = "baselines"))]
pub const CONTROLS: [Control; 1] = [Control::Fifo];

/// Leaves a hierarchy with its only control.
#[cfg(not(feature = "baselines"))]
pub fn controlled(builder: HierarchyBuilder, _: Control) -> HierarchyBuilder {
    builder
}
