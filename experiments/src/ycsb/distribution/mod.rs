//! Which record a request is about: YCSB's distributions, drawn from a seeded generator.
//!
//! They follow YCSB's own generators step by step, so that a result can be compared with published ones. `rand_distr`
//! has an exact Zipf sampler, which would be the better choice for a new benchmark; YCSB's is the quick approximation of
//! Gray et al., whose probabilities differ a little, whose scrambled form draws from ten billion items whatever the
//! number of records, and which has to grow while records are inserted.

mod latest;
mod random;
mod scrambled;
mod zipfian;

pub use latest::Latest;
pub use random::Random;
pub use scrambled::Scrambled;
pub use zipfian::Zipfian;
