//! Reads the facts from a Linux system.
//!
//! [`System`] reads `/proc` and `/sys` below a root directory, so a copy of the files of another
//! machine works as well. On other systems the files are missing; the facts are then the number of
//! CPUs, and gaps.

mod caches;
mod cgroups;
mod limits;
mod load;
mod numa;
mod pressure;
mod proc_stat;
mod root;
mod sharing;
mod survey;
mod topology;

pub use load::{Sample, Watch};

use crate::facts::Facts;
use root::Root;
use std::fmt;
use std::path::PathBuf;
use survey::Survey;
pub(crate) use survey::brief;

/// A system whose facts can be read.
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
    /// True if the program runs on it, so that the standard library can be asked.
    here: bool,
}

/// The error of reading a system: not even the CPUs, or their load, can be determined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(String);

impl Unreadable {
    pub(crate) fn new(why: String) -> Self {
        Self(why)
    }
}

impl System {
    /// Returns the system that the program runs on.
    pub fn here() -> Self {
        Self { root: Root::new(PathBuf::from("/")), here: true }
    }

    /// Returns the system whose `/proc` and `/sys` are below `root`; its process is the one of
    /// `proc/self` there. Nothing outside `root` is read.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: Root::new(root.into()), here: false }
    }

    /// Reads all facts. [`Facts::load`] stays empty because it takes time; [`System::watch`]
    /// measures it.
    ///
    /// # Errors
    /// If the CPUs cannot be determined.
    pub fn facts(&self) -> Result<Facts, Unreadable> {
        let mut survey = Survey::new(&self.root);
        let online = topology::online(&mut survey, self.here)?;
        let memory = numa::memory(&mut survey);
        let nodes = numa::nodes(&mut survey, &online, memory);
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

    /// Reads again what changes at run time and is cheap to read: the online CPUs and the limits.
    /// Reads everything again if CPUs came or went.
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
