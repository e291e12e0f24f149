//! Provides hierarchies by name: generated from a seed, or read from files or a directory.
//!
//! Each becomes a [`Shape`] whose nodes are numbered from 0. It may have several roots: any node
//! without a parent is one, also if the data names a parent that is missing. Missing ends and
//! duplicates of links are left out with a note. A cycle is an error.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `generated` | generated hierarchies |
//! | [`taxonomy`] | the NCBI taxonomy of species: a tree |
//! | `extent` | whether its file is complete |
//! | [`wordnet`] | the nouns of English by what they are kinds of: a DAG |
//! | [`files`] | the files below a directory: a tree |
//! | [`edges`] | a text file of edges |
//! | `links` | turns links into a shape |
//! | [`profile`] | the numbers that characterize a hierarchy |

pub mod edges;
mod extent;
pub mod files;
mod generated;
mod links;
mod options;
pub mod profile;
#[cfg(test)]
mod real;
pub mod taxonomy;
pub mod wordnet;

pub use options::{Source, SourceKind};
pub use profile::ShapeProfile;

use std::io;
use std::path::Path;
use xtasking_harness::failure::Failure;
use xtasking_hierarchy::Shape;

/// A hierarchy to work on.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// A short description.
    pub title: String,
    /// The nodes and their links.
    pub shape: Shape,
    /// Remarks on the data, a line each.
    pub notes: Vec<String>,
}

impl Hierarchy {
    /// Returns all links from parents to children, with the children of each parent in their order.
    pub fn edges(&self) -> Vec<(u32, u32)> {
        let below = |parent| self.shape.children(parent).map(move |child| (parent.0, child.0));
        self.shape.nodes().flat_map(below).collect()
    }
}

/// Returns the error of a file that cannot be read, with a hint where to get it.
fn unreadable(path: &Path, error: &io::Error, fetch: &str) -> Failure {
    Failure::Usage(format!("cannot read {}: {error}{fetch}", path.display()))
}

/// Returns the error of a file with other contents, with a hint where to get it.
fn foreign(path: &Path, what: &str, fetch: &str) -> Failure {
    Failure::Usage(format!("{} {what}{fetch}", path.display()))
}
