//! What goes wrong in use: data that are cut off or no numbers, programs that fail in the middle of a pipe, outputs that
//! disappear, absurd numbers. Nothing may be lost without a sentence and a status. The table in docs/hostile.md has a line for
//! each of these.

#[path = "../programs/common.rs"]
#[allow(dead_code)] // Other tests need more.
mod common;
mod data;

mod command_lines;
mod damage;
mod limits;
mod not_numbers;
mod outputs;
mod pipes;
mod places;
mod signals;
mod sizes;
mod too_little;
