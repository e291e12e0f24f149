//! The hierarchy experiment: tasks on sub-trees of hierarchies, real ones and others.
//!
//! | module | what it holds |
//! |---|---|
//! | [`sources`] | the hierarchies, by name |

pub mod sources;
