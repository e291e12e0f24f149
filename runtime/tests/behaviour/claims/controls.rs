//! The controls that tests run with: all of them with the feature `baselines`, else the only one.

use xtasking::claims::Directory;
use xtasking::{Granules, Runtime};

pub use xtasking_testing::Control;
#[cfg(feature = "baselines")]
use xtasking_testing::Granularity;

/// What the tests check holds for all of them, whatever the order of the tasks.
#[cfg(feature = "baselines")]
pub const CONTROLS: [Control; 9] = [
    Control::Fifo,
    Control::Coarse,
    Control::DomLock,
    Control::NumLock,
    Control::Toggle,
    Control::ToggleOn(Granularity::Cheapest),
    Control::Parked(Granularity::Exact),
    Control::Parked(Granularity::Hull),
    Control::Parked(Granularity::Cheapest),
];

/// Returns true if a task that waits for granules leaves its worker to others.
#[cfg(feature = "baselines")]
pub fn parks(control: Control) -> bool {
    matches!(control, Control::Fifo | Control::Parked(_))
}

/// Creates granules with these data and this control.
#[cfg(feature = "baselines")]
pub fn granules_of<D: Send + Sync + 'static>(
    rt: &Runtime,
    control: Control,
    data: impl IntoIterator<Item = D>,
) -> Granules<D> {
    rt.granules_with_control(control, Directory::default(), data)
}

#[cfg(not(feature = "baselines"))]
pub const CONTROLS: [Control; 1] = [Control::Fifo];

/// Returns true: a task that waits for granules leaves its worker to others.
#[cfg(not(feature = "baselines"))]
pub fn parks(Control::Fifo: Control) -> bool {
    true
}

/// Creates granules with these data.
#[cfg(not(feature = "baselines"))]
pub fn granules_of<D: Send + Sync + 'static>(
    rt: &Runtime,
    _: Control,
    data: impl IntoIterator<Item = D>,
) -> Granules<D> {
    rt.granules_with(Directory::default(), data)
}
