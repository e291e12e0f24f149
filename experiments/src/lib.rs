//! The experiments of XTasking, as a library that the program and its tests share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`ycsb`] | throughput of ordered indexes on the YCSB workloads |
//! | [`tasks`] | the overhead of spawning, running and synchronising a task |
//! | [`divide`] | balance of work that is divided into long pieces |
//! | [`irregular`] | fork-join work that is unevenly divided: trees and a sort |
//! | [`fib`] | the overhead of a fork and its join |
//! | [`cholesky`] | tasks with dependencies: Cholesky factorisation by tiles |
//! | [`wavefront`] | tasks with dependencies: a grid of blocks, each after two neighbours |
//! | [`matrix`] | tiled matrices and their kernels |
//! | [`pools`] | load balancing by each queue policy, on threads and on virtual cores |
//! | [`map`] | hash maps that are larger than the caches |
//! | [`join`] | hash joins of two tables |
//! | [`graph`] | breadth-first search on a random graph |
//! | [`granularity`] | throughput by task size: aggregation with 10 to 10 million records a task |
//! | [`managed`] | servers of requests: ranks in a shared queue, and latency in open loop |
//! | [`scan`] | batches of queries on a column store, compared with databases |
//! | [`hierarchy`] | tasks on subtrees of hierarchies |
//! | [`grow`] | a tree that grows, and how many of its sub-trees exclude each other |
//! | [`files`] | a file system: sub-trees read, written and moved |
//! | `service` | a web service whose requests touch two objects (feature `service`) |
//! | `store` | a Redis-compatible store beside other servers (feature `store`) |
//! | [`peers`] | indexes of other libraries, behind one trait |

#![deny(unsafe_code)]

pub mod cholesky;
pub mod cli;
mod completion;
mod computation;
#[allow(unsafe_code, reason = "a call of the C library")]
mod cpu_time;
pub mod divide;
pub mod fib;
pub mod files;
pub mod granularity;
pub mod graph;
pub mod grow;
pub mod hierarchy;
pub mod irregular;
pub mod join;
pub mod managed;
pub mod map;
pub mod matrix;
#[allow(unsafe_code, reason = "a call of the C library")]
mod memory;
pub mod peers;
mod piece;
pub mod pools;
pub mod scan;
#[cfg(feature = "service")]
pub mod service;
#[cfg(feature = "store")]
pub mod store;
mod tables;
pub mod tasks;
pub mod wavefront;
pub mod ycsb;
