//! Listings that the reference printed for two small networks, and the networks' results.

use crate::computations::support::*;
use nnet3_core::compile::compile;
use nnet3_core::compile::looped::{LoopedOptions, compile_looped, looped_requests};
use nnet3_core::computation::Computation;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::request::ComputationRequest;

const FEED_FORWARD: &str = include_str!("golden/feed_forward.config");
const RECURRENT: &str = include_str!("golden/recurrent.config");

fn plain(nnet: &Nnet, request: &ComputationRequest) -> Computation {
    compile(nnet, std::slice::from_ref(request)).unwrap()
}

fn optimized(nnet: &Nnet, request: &ComputationRequest, options: &OptimizeOptions) -> Computation {
    let mut out = plain(nnet, request);
    optimize(options, nnet, request.max_output_time().unwrap(), &mut out).unwrap();
    out
}

/// Removes the four lines that explain debug info.
fn without_legend(listing: String) -> String {
    const LEGEND: [&str; 4] = ["# The following", "# cindex-ids", "# where", "# so we"];
    let is_legend = |line: &str| LEGEND.iter().any(|l| line.starts_with(l));
    listing.lines().filter(|line| !is_legend(line)).map(|line| format!("{line}\n")).collect()
}

fn check_equal(found: &str, wanted: &str) {
    for (f, w) in found.lines().zip(wanted.lines()) {
        assert_eq!(f, w, "\nwhole listing:\n{found}");
    }
    assert_eq!(found.lines().count(), wanted.lines().count(), "{found}");
}

#[test]
fn feed_forward_listings() {
    let nnet = nnet(FEED_FORWARD);
    let request = training_request(2, -1..3, 0..2);
    check_equal(
        &without_legend(print(&nnet, &plain(&nnet, &request))),
        include_str!("golden/feed_forward.plain.txt"),
    );
    let optimized = optimized(&nnet, &request, &OptimizeOptions::default());
    check_equal(&without_legend(print(&nnet, &optimized)), include_str!("golden/feed_forward.txt"));
}

#[test]
fn recurrent_listing_and_shortcut() {
    let nnet = nnet(RECURRENT);
    let mut request = training_request(2, -2..6, 0..4);
    request.store_component_stats = true;
    let optimized = optimized(&nnet, &request, &OptimizeOptions::default());
    check_equal(&print_short(&nnet, &optimized), include_str!("golden/recurrent.txt"));

    let forward = forward_only(&training_request(5, -2..6, 0..4));
    let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let program = compiler.program(&nnet, &forward).unwrap();
    check_equal(&print_short(&nnet, program.computation()), include_str!("golden/recurrent_shortcut.txt"));
    assert_eq!(compiler.num_cached(), 2);
}

#[test]
fn recurrent_looped_listing() {
    let nnet = nnet(RECURRENT);
    let options = LoopedOptions {
        chunk_size: 4,
        frame_subsampling_factor: 1,
        ivector_period: 4,
        left_context: 0,
        right_context: 1,
        num_sequences: 1,
    };
    let requests = looped_requests(&nnet, &options).unwrap();
    let computation = compile_looped(&nnet, &OptimizeOptions::default(), &requests).unwrap();
    // The reference leaves no-ops behind, which shift the numbers of commands.
    let commands = |listing: &str| -> String {
        let without_number = |line: &str| line.split_once(": ").map_or(line, |(_, rest)| rest).to_string();
        let lines = listing.lines().map(without_number).filter(|line| line != "[no-op]");
        lines.map(|line| if line.starts_with("goto") { "goto\n".to_string() } else { line + "\n" }).collect()
    };
    check_equal(
        &commands(&print_short(&nnet, &computation)),
        &commands(include_str!("golden/recurrent_looped.txt")),
    );
}
