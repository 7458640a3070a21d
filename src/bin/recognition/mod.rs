//! Recognition: decoding, alignment, i-vectors, from sound to text.

mod aligning;
mod decoders;
mod decoding;
#[cfg(feature = "sound")]
mod elsewhere;
mod equal_alignment;
mod gaussians;
mod ivectors;
mod latgen;
mod mapped;
mod online;
mod options;
mod search_graph;
#[cfg(feature = "sound")]
mod searching;
mod server;
#[cfg(feature = "serve")]
mod serving;
mod spotting;
#[cfg(feature = "serve")]
mod system_limits;
#[cfg(feature = "sound")]
mod transcribe;
mod viterbi;

include!(concat!(env!("OUT_DIR"), "/recognition.rs"));
