//! The experiments of XTasking, as a library that the program and the tests share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`cli`] | the command line and the options that all experiments share |
//! | [`ycsb`] | the YCSB experiment: workloads, requests, checks, and the order in which things are run |
//! | [`tasks`] | the tasks experiment: what the runtime itself costs |
//! | [`fib`] | the fork–join experiment: what a fork and its join cost |
//! | [`cholesky`] | tasks that depend on each other: a matrix taken apart by tiles |
//! | [`pools`] | eager tasks on every pool, on threads and on virtual cores |
//! | [`granularity`] | how small tasks may be: records aggregated by tasks of 10 to 10 million |
//! | [`managed`] | requests with ranks, served by pools with one queue |
//! | [`scan`] | requests for bookings in batches, beside databases: where sharing a scan wins, and where an index does |
//! | [`hierarchy`] | tasks on sub-trees: the hierarchies, and the tasks |
//! | [`virtual_time`] | a platform on which tasks take virtual time in their midst, and wait there |
//! | [`soak`] | the soak test: load and abuse, every result checked |
//! | [`inquiry`] | what the machine is and is doing, and questions about it |
//! | [`experiment`] | what every experiment does |
//! | [`lineup`] | contenders that take turns with some numbers of workers |
//! | [`outside`] | contenders that are programs of their own |
//! | [`contenders`] | what takes part in YCSB, by name |
//! | [`peers`] | the indexes of others, behind one trait |
//! | [`report`] | results as a table, as JSON and as a drawing |
//! | [`machine`] | what it was measured on |
//! | [`progress`] | what is shown meanwhile |
//! | [`failure`] | why there is no result, and the exit codes |
//! | [`suggestion`] | "did you mean …?" |

#![deny(unsafe_code)]

pub mod cholesky;
pub mod cli;
pub mod contenders;
pub mod experiment;
pub mod failure;
pub mod fib;
pub mod granularity;
pub mod hierarchy;
pub mod inquiry;
pub mod lineup;
pub mod machine;
pub mod managed;
pub mod outside;
pub mod peers;
pub mod pools;
pub mod progress;
pub mod report;
pub mod scan;
pub mod soak;
pub mod stmbench7;
pub mod suggestion;
pub mod tasks;
pub mod virtual_time;
pub mod ycsb;
