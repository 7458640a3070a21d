//! Compiled computations: the reference's listings and figures (`$NNET3_CONFORMANCE_DIR`), and small networks.

mod bf16;
mod conformance;
mod golden;
mod inspect;
mod looped;
mod mutations;
mod picked_inputs;
mod plan;
mod random_networks;
mod sparse_inputs;
mod support;
mod trace;
mod variants;
