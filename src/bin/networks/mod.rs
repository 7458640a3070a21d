//! Networks and acoustic models: making, printing, copying, running, exporting, compiled computations.

mod compiler;
mod config_dir;

include!(concat!(env!("OUT_DIR"), "/networks.rs"));
