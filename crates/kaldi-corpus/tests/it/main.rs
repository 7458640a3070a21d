//! Corpora of all forms, made for the tests.

mod damaged;
mod data_folders;
mod folders;
mod sounds;
mod support;
mod tables;
