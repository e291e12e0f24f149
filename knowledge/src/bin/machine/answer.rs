//! Answers one question.

use super::options::Once;
use crate::output::Failure;
use serde::Serialize;
use std::fmt;
use xtasking_knowledge::facts::CpuSet;
use xtasking_knowledge::{Bytes, CacheSizes, Knowledge, Partition, Plan, Request, Suggestion};

/// The answer to one question.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Caches(CacheSizes),
    Places(Suggestion),
}

/// Answers the question.
///
/// # Errors
///
/// If there is no answer; the failure says why.
pub(super) fn to(question: &Once, knowledge: &Knowledge) -> Result<Answer, Failure> {
    let places = |request: &Request| {
        let suggestion = knowledge.suggest_allocation(request, None);
        suggestion.map(Answer::Places).map_err(|why| Failure::Usage(why.to_string()))
    };
    match question {
        Once::Cache { level } => {
            let sizes = knowledge.cache_size(*level).map_err(|why| Failure::Usage(why.to_string()))?;
            Ok(Answer::Caches(sizes))
        }
        Once::Partitions { data } => places(&Request::new(data.size, data.bound)),
        Once::Allocation(allocation) => places(&allocation.request()),
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caches(sizes) => {
                let (size, share) = (Bytes(sizes.size()), Bytes(sizes.share()));
                writeln!(f, "level {}: every CPU sees {size} and has a share of {share}", sizes.level)?;
                sizes.why().iter().try_for_each(|why| writeln!(f, "  {why}"))
            }
            Self::Places(suggestion) => places(suggestion, f),
        }
    }
}

fn places(suggestion: &Suggestion, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    plan(&suggestion.plan, f)?;
    writeln!(f, "\nwhy")?;
    suggestion.why.iter().try_for_each(|reason| writeln!(f, "  {reason}"))?;
    if !suggestion.alternatives.is_empty() {
        writeln!(f, "\nother plans")?;
    }
    suggestion.alternatives.iter().try_for_each(|other| {
        let changes = match other.changes.len() {
            1 => "1 change".to_string(),
            changes => format!("{changes} changes"),
        };
        let workers = other.plan.partitions.len();
        writeln!(
            f,
            "  {}: {workers} on CPUs {}, {changes}, takes {:+.1} %",
            other.what,
            other.plan.cpus(),
            other.costs * 100.0
        )
    })
}

/// Writes the partitions; neighbours that differ only in the CPU share a line.
pub(super) fn plan(plan: &Plan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let count = plan.partitions.len();
    let noun = if count == 1 { "partition" } else { "partitions" };
    writeln!(
        f,
        "{count} {noun} of {}, in {:.3} of the time of one CPU alone",
        Bytes(plan.bytes()),
        plan.predicted
    )?;
    let looks = |partition: &Partition| (partition.node, Bytes(partition.size()).to_string());
    for alike in plan.partitions.chunk_by(|one, other| looks(one) == looks(other)) {
        let cpus: CpuSet = alike.iter().map(|partition| partition.cpu).collect();
        let (node, size) = looks(&alike[0]);
        let (noun, each) = if alike.len() == 1 { ("CPU", "") } else { ("CPUs", " each") };
        writeln!(f, "  {noun} {cpus}, node {node}: {size}{each}")?;
    }
    Ok(())
}
