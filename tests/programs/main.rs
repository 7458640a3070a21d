//! The programs as their users see them: command lines, files, statuses, log lines.

mod acoustic_programs;
mod benchmark;
mod chain_programs;
mod chain_training_programs;
mod cli_errors;
mod command_lines;
mod common;
mod compile_info;
mod compute;
mod conformance;
mod decoding_programs;
mod documentation;
mod durability;
mod egs_programs;
mod everyday;
mod feature_programs;
mod fit;
mod gpu_option;
mod ivector_programs;
mod own_pipes;
mod report;
mod sound_programs;
mod table_programs;
mod training_programs;
mod trees;
mod xconfig;
