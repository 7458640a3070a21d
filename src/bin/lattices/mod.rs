//! Lattices and n-best lists: copying, scaling, paths, alignment, rescoring.

mod accuracy;
mod determinization;
mod pushing;

include!(concat!(env!("OUT_DIR"), "/lattices.rs"));
