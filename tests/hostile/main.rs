//! Faults in use: truncated data, values that are not numbers, programs that fail in the middle of a pipe, outputs that
//! disappear, absurd numbers. Every loss must have a message and a status. The table in docs/dev/hostile.md has a line
//! for each of these.

#[path = "../programs/common.rs"]
#[allow(dead_code)] // Other tests need more.
mod common;
mod data;

mod command_lines;
mod damage;
mod held_files;
mod limits;
mod not_numbers;
mod outputs;
mod pipes;
mod places;
mod signals;
mod sizes;
mod too_little;
