//! Tiled symmetric matrices, and the kernels of their Cholesky factorisation.
//!
//! | module | what it holds |
//! |---|---|
//! | `tiles` | a tiled matrix, and the check of a factorisation |
//! | `kernels` | the operations on tiles |

pub(crate) mod kernels;
pub(crate) mod tiles;
