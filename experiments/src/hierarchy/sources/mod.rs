//! The hierarchies, by name: made up from a seed, read from files, or a directory of this machine.
//!
//! Each becomes a [`Shape`] whose nodes have the numbers 0, 1, 2 and so on. It may have several roots: what has no parent is
//! one, also where the data names a parent that it does not hold, which is told. Nothing is left out but links that are given
//! twice, which is told as well. What has a cycle is refused.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `made` | hierarchies made up |
//! | [`taxonomy`] | the species of the living world: a tree |
//! | `extent` | whether a file of it is whole |
//! | [`wordnet`] | the nouns of English, each below what it is a kind of: nouns may be of several kinds |
//! | [`files`] | the files below a directory: a tree |
//! | [`edges`] | a text file of anybody's |
//! | `links` | what is read, on the way to a shape |
//! | [`profile`] | what a hierarchy looks like, in numbers |

pub mod edges;
mod extent;
pub mod files;
mod links;
mod made;
mod options;
pub mod profile;
#[cfg(test)]
mod real;
pub mod taxonomy;
pub mod wordnet;

pub use options::{Kind, Source};
pub use profile::Profile;

use crate::failure::Failure;
use std::io;
use std::path::Path;
use xtasking_hierarchy::Shape;

/// A hierarchy to work on.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// What it is, in a few words.
    pub title: String,
    /// Its nodes, and which is under which.
    pub shape: Shape,
    /// What is to be said about the data, a line each.
    pub notes: Vec<String>,
}

impl Hierarchy {
    /// Each parent with each of its children, which are in their order.
    pub fn edges(&self) -> Vec<(u32, u32)> {
        let below = |parent| self.shape.children(parent).map(move |child| (parent.0, child.0));
        self.shape.nodes().flat_map(below).collect()
    }
}

/// A file that cannot be read, and where it could come from.
fn unreadable(path: &Path, error: &io::Error, fetch: &str) -> Failure {
    Failure::Usage(format!("cannot read {}: {error}{fetch}", path.display()))
}

/// A file that holds something else.
fn foreign(path: &Path, what: &str, fetch: &str) -> Failure {
    Failure::Usage(format!("{} {what}{fetch}", path.display()))
}
