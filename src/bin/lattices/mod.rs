//! Lattices and n-best lists: copying, scaling, paths, alignment, rescoring.

include!(concat!(env!("OUT_DIR"), "/lattices.rs"));
