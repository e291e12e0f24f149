//! YCSB's distributions of records over requests, drawn from a seeded generator.
//!
//! They follow YCSB's generators step by step, so that results can be compared with published ones.
//! A new benchmark would better use an exact sampler, such as the one of `rand_distr`. YCSB's is
//! the fast approximation of Gray et al., with slightly different probabilities. Its scrambled form
//! draws from ten billion items for any number of records, and it has to grow while records are
//! inserted.

mod latest;
mod scrambled;
mod zipfian;

pub use latest::Latest;
pub use scrambled::Scrambled;
pub use zipfian::Zipfian;
