//! A B-link tree built from annotated tasks.

pub mod node;
