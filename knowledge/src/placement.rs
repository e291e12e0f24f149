//! Conversion of a suggestion into the placement of a runtime's workers.

use crate::query::Suggestion;
use xtasking::platform::{Placement, Site};

/// Places one worker for each partition, in the order of the data: on its CPU, with memory on its
/// node. The reasons are those of the suggestion.
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_knowledge::system::System;
/// use xtasking_knowledge::{Bound, Knowledge};
///
/// let knowledge = Knowledge::new(System::here().facts()?);
/// let suggestion = knowledge.suggest_partitions(64 << 20, Bound::Memory)?;
/// # if cfg!(target_os = "linux") {
/// let rt = Runtime::builder().placement(&suggestion).build()?;
/// assert_eq!(rt.workers(), suggestion.plan.partitions.len());
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl From<&Suggestion> for Placement {
    fn from(suggestion: &Suggestion) -> Self {
        let partitions = suggestion.plan.partitions.iter();
        let why: Vec<_> = suggestion.why.iter().map(|reason| reason.text.as_str()).collect();
        let sites = partitions.map(|partition| Site { cpu: partition.cpu, node: Some(partition.node) });
        Self::at(sites, why.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::{Bound, Knowledge};

    #[test]
    fn each_partition_has_a_worker_on_its_cpu() {
        let knowledge = Knowledge::new(Facts::symmetric(2, 1, 4, 2));
        let suggestion = knowledge.suggest_partitions(64 << 20, Bound::Memory).unwrap();
        let placement = Placement::from(&suggestion);
        let sites: Vec<_> = placement.sites().iter().map(|site| (site.cpu, site.node)).collect();
        let partitions = &suggestion.plan.partitions;
        assert_eq!(sites, partitions.iter().map(|part| (part.cpu, Some(part.node))).collect::<Vec<_>>());
        assert!(suggestion.why.iter().all(|reason| placement.why().contains(&reason.text)), "{placement}");
    }
}
