//! Groups of options for recognition, each a struct that programs flatten into their own.
//!
//! The structs have plain comments: clap would show a doc comment as the description of the program.

pub mod online;
