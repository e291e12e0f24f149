//! The command line, whose subcommands are the experiments.

use crate::{
    cholesky, divide, fib, files, granularity, graph, grow, hierarchy, irregular, join, managed, map, pools,
    scan, tasks, wavefront, ycsb,
};
use clap::{Parser, Subcommand};
use xtasking_harness::failure::Failure;

/// Experiments that compare XTasking with its peers, with every result checked
///
/// Without a subcommand, it runs `ycsb` with default options.
#[derive(Debug, Parser)]
#[command(name = "xtasking-bench", version)]
pub struct Cli {
    /// The experiment to run.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ycsb(ycsb::YcsbOptions),
    Tasks(tasks::TasksOptions),
    Divide(divide::DivideOptions),
    Irregular(irregular::IrregularOptions),
    Fib(fib::FibOptions),
    Cholesky(cholesky::CholeskyOptions),
    Wavefront(wavefront::WavefrontOptions),
    Granularity(granularity::GranularityOptions),
    Map(map::MapOptions),
    Join(join::JoinOptions),
    Graph(graph::GraphOptions),
    Hierarchy(hierarchy::HierarchyOptions),
    Files(files::FilesOptions),
    Grow(grow::GrowOptions),
    Managed(managed::ManagedOptions),
    Pools(pools::PoolsOptions),
    Scan(scan::ScanOptions),
    #[cfg(feature = "service")]
    Service(crate::service::ServiceOptions),
    #[cfg(feature = "store")]
    Store(crate::store::StoreOptions),
    Stmbench7(xtasking_stmbench7::Options),
    /// Keeps a CPU busy, as a competitor of `scan`
    #[command(hide = true)]
    Burn(scan::Burn),
    /// Serves a store, for `store`
    #[cfg(feature = "store")]
    #[command(hide = true)]
    ServeStore(crate::store::ServeStore),
    /// Serves a bank, for `service`
    #[cfg(feature = "service")]
    #[command(hide = true)]
    ServiceServer(crate::service::Serve),
}

impl Cli {
    /// Runs the selected experiment.
    ///
    /// # Errors
    ///
    /// Those of the experiment.
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Some(Command::Ycsb(options)) => ycsb::run(&options),
            Some(Command::Tasks(options)) => tasks::run(&options),
            Some(Command::Divide(options)) => divide::run(&options),
            Some(Command::Irregular(options)) => irregular::run(&options),
            Some(Command::Fib(options)) => fib::run(&options),
            Some(Command::Cholesky(options)) => cholesky::run(&options),
            Some(Command::Wavefront(options)) => wavefront::run(&options),
            Some(Command::Granularity(options)) => granularity::run(&options),
            Some(Command::Map(options)) => map::run(&options),
            Some(Command::Join(options)) => join::run(&options),
            Some(Command::Graph(options)) => graph::run(&options),
            Some(Command::Hierarchy(options)) => hierarchy::run(&options),
            Some(Command::Files(options)) => files::run(&options),
            Some(Command::Grow(options)) => grow::run(&options),
            Some(Command::Managed(options)) => managed::run(&options),
            Some(Command::Pools(options)) => pools::run(&options),
            Some(Command::Scan(options)) => scan::run(&options),
            #[cfg(feature = "service")]
            Some(Command::Service(options)) => crate::service::run(&options),
            #[cfg(feature = "service")]
            Some(Command::ServiceServer(options)) => crate::service::serve(&options),
            #[cfg(feature = "store")]
            Some(Command::Store(options)) => crate::store::run(&options),
            #[cfg(feature = "store")]
            Some(Command::ServeStore(options)) => crate::store::serve(&options),
            Some(Command::Stmbench7(options)) => xtasking_stmbench7::run(&options),
            Some(Command::Burn(options)) => scan::burn(&options),
            None => Self::parse_from(["xtasking-bench", "ycsb"]).run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
