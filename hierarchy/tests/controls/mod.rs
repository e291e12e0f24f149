//! The controls that tests run with: all of them with the feature `baselines`, else the only one.

use xtasking_hierarchy::HierarchyBuilder;

pub use xtasking_testing::Control;
#[cfg(feature = "baselines")]
use xtasking_testing::Granularity;

#[cfg(feature = "baselines")]
pub const CONTROLS: [Control; 9] = [
    Control::Fifo,
    Control::Coarse,
    Control::InOrder,
    Control::DomLock,
    Control::NumLock,
    Control::Toggle,
    Control::ToggleOn(Granularity::Cheapest),
    Control::Parked(Granularity::Exact),
    Control::Parked(Granularity::Hull),
];

/// Sets the control of a hierarchy.
#[cfg(feature = "baselines")]
pub fn controlled(builder: HierarchyBuilder, control: Control) -> HierarchyBuilder {
    builder.control(control)
}

#[cfg(not(feature = "baselines"))]
pub const CONTROLS: [Control; 1] = [Control::Fifo];

/// Leaves a hierarchy with its only control.
#[cfg(not(feature = "baselines"))]
pub fn controlled(builder: HierarchyBuilder, _: Control) -> HierarchyBuilder {
    builder
}
