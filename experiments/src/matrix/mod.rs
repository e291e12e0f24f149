//! Tiled symmetric matrices, and the kernels of their Cholesky factorisation.
//!
//! | module | what it holds |
//! |---|---|
//! | `tiles` | a tiled matrix, and the check of a factorisation |
//! | `kernels` | the operations on tiles |
//! | `sequential` | the factorisation as a plain sequential program |

pub(crate) mod kernels;
pub(crate) mod sequential;
pub(crate) mod tiles;
