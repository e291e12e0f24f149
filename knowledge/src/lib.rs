//! What the machine is and is doing, asked before data is divided and work is placed.
//!
//! A database should ask, not guess: how many partitions, on which cores, in whose memory, beside which neighbours. This
//! is the *system knowledge base* of Cod (Giceva et al., "COD: Database/Operating System Co-Design", CIDR 2013): facts, read
//! from the system, and questions, answered by rules and an integer program, each answer with its reason.
//!
//! | module | what it holds |
//! |---|---|
//! | [`facts`] | what is known of a machine at one moment, as plain data |
//! | [`drawing`] | facts as a person sees them: text and SVG |
//! | [`system`] | reading it from a system |

pub mod drawing;
pub mod facts;
pub mod system;
