//! The project's pages are included here, so that the tests compile and run their code. The programs to copy from stand
//! beside this folder.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/concepts.md")]
mod concepts {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/knowledge.md")]
mod knowledge {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/columns.md")]
mod columns {}
