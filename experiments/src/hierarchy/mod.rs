//! The hierarchy experiment: tasks on sub-trees of hierarchies, real ones and others.
//!
//! | module | what it holds |
//! |---|---|
//! | [`sources`] | the hierarchies, by name |
//! | [`load`] | tasks that name nodes, and how often they are taken to meet without need |

pub mod load;
pub mod sources;
