//! Options of network, search and endpoints together.

use clap::Args;

use super::endpoint::EndpointArgs;
use super::incremental::IncrementalArgs;
use super::network::LoopedArgs;
use super::search::SearchArgs;

// Options of network and search for streams.
#[derive(Args, Clone, Debug)]
pub struct RecognizerArgs {
    /// Scaling factor for acoustic log-likelihoods
    #[arg(long, default_value_t = 0.1)]
    pub acoustic_scale: f32,
    #[command(flatten)]
    pub looped: LoopedArgs,
    #[command(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    pub endpoint: EndpointArgs,
}

// The options of vosk's conf/model.conf.
#[derive(Args, Clone, Debug)]
pub struct ModelArgs {
    #[command(flatten)]
    pub recognizer: RecognizerArgs,
    #[command(flatten)]
    pub incremental: IncrementalArgs,
}
