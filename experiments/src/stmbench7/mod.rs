//! STMBench7, written anew from its description: a CAD model with indexes, and operations from a look at one part to a walk
//! through all. (Guerraoui, Kapałka, Vitek, "STMBench7: A Benchmark for Software Transactional Memory", EuroSys 2007.)
//!
//! | module | what it holds |
//! |---|---|
//! | `sizes` | how large a world is |
//! | `dates` | dates, and how they change |
//! | `text` | the texts of documents and of the manual |
//! | `graph` | the graph of the atomic parts of a composite part |
//! | `ids` | ids that objects have not taken |
//! | `pages` | pages of the indexes |
//! | `parts` | what the nodes of a world are |
//! | `layout` | where things are that never move |
//! | `world` | what a world has to offer |
//! | `plain` | a world for one |
//! | `index` | what the indexes are told |
//! | `build` | a world from a seed |

mod build;
#[cfg(test)]
mod checked;
mod dates;
mod find;
mod graph;
mod ids;
mod index;
mod invariants;
mod layout;
mod mix;
mod operations;
mod outcome;
mod pages;
mod parts;
mod plain;
mod replay;
mod sizes;
mod text;
mod world;
