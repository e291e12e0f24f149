//! The memory of the program.
