//! Reading the facts from a system.
//!
//! [`System`] reads the files by which Linux tells of itself, below a root, so that other machines can be looked at through
//! a copy of their files. Elsewhere these files are missing: what is left is the number of CPUs, and gaps.

mod caches;
mod groups;
mod limits;
mod load;
mod nodes;
mod pressure;
mod root;
mod sharing;
mod stat;
mod topology;

pub use load::{Sample, Watch};

use crate::facts::Facts;
pub(crate) use root::brief;
use root::{Root, Survey};
use std::fmt;
use std::path::PathBuf;

/// A system that can be asked for its facts.
///
/// ```
/// use xtasking_knowledge::system::System;
///
/// let facts = System::here().facts()?;
/// assert!(!facts.cpus.is_empty());
/// for gap in &facts.gaps {
///     println!("{}: {}", gap.about, gap.why);
/// }
/// # Ok::<_, xtasking_knowledge::system::Unreadable>(())
/// ```
#[derive(Clone, Debug)]
pub struct System {
    root: Root,
    /// Whether the program runs on it, and can ask in other ways.
    here: bool,
}

/// Not even the number of CPUs can be found, or what they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(String);

impl Unreadable {
    pub(crate) fn new(why: String) -> Self {
        Self(why)
    }
}

impl System {
    /// The system that the program runs on.
    pub fn here() -> Self {
        Self { root: Root::new(PathBuf::from("/")), here: true }
    }

    /// The system whose `/proc` and `/sys` are below this folder. The process that it is asked for is the one that
    /// `proc/self` there tells of. Nothing outside the folder is read.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: Root::new(root.into()), here: false }
    }

    /// All that is known at this moment. [`Facts::load`] is left open, since it takes a while: [`System::watch`] gives it.
    ///
    /// # Errors
    /// Not even the number of CPUs can be found.
    pub fn facts(&self) -> Result<Facts, Unreadable> {
        let mut survey = Survey::new(&self.root);
        let online = topology::online(&mut survey, self.here)?;
        let memory = nodes::memory(&mut survey);
        let nodes = nodes::nodes(&mut survey, &online, memory);
        Ok(Facts {
            model: topology::model(&mut survey),
            cpus: topology::cpus(&mut survey, &online, &nodes),
            caches: caches::caches(&mut survey, &online),
            limits: limits::limits(&mut survey, &online, &nodes),
            nodes,
            memory: memory.total,
            load: None,
            pressure: pressure::pressure(&mut survey),
            registered: Vec::new(),
            gaps: survey.gaps,
        })
    }

    /// Reads again what changes while a process runs, and is quickly read: which CPUs are online, and the limits. Where
    /// CPUs came or went, everything is read again.
    pub(crate) fn renew(&self, facts: &mut Facts) -> Result<(), Unreadable> {
        let mut survey = Survey::new(&self.root);
        let online = topology::online(&mut survey, self.here)?;
        if online.iter().eq(facts.cpus.iter().map(|cpu| cpu.id)) {
            facts.limits = limits::limits(&mut survey, &online, &facts.nodes);
        } else {
            *facts = self.facts()?;
        }
        Ok(())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}
