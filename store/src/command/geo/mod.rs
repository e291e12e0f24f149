//! Commands on places: sorted sets whose scores are cells of the earth.
//!
//! A score has 52 bits: 26 of the longitude and 26 of the latitude, interleaved. So the members in
//! a larger cell are a range of scores. A search visits the cell of its center and the cells around
//! it, as large as the shape needs, and computes the distance of each member there.
//!
//! | file | contents |
//! |---|---|
//! | `table` | their entries in the table of commands |
//! | `point` | [`Point`](point::Point): coordinates, and distances of points |
//! | `cell` | [`Cell`](cell::Cell): a cell, and its score |
//! | `shape` | [`Shape`](shape::Shape): circles and boxes, and the cells that cover them |
//! | `arguments` | units, coordinates and sizes among the arguments |
//! | `options` | [`Query`](options::Query): the arguments of a search |
//! | `search` | GEOSEARCH, GEORADIUS and their siblings |
//! | `members` | GEOADD, and commands on members that are named |

mod arguments;
mod cell;
mod members;
mod options;
mod point;
mod search;
mod shape;
mod table;

pub(super) use table::COMMANDS;
