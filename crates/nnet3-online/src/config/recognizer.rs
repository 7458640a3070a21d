//! Options of network, search and endpoints together.

use super::endpoint::EndpointArgs;
use super::incremental::IncrementalArgs;
use super::network::LoopedArgs;
use super::search::SearchArgs;

kaldi_io::options! {
    /// Options of network and search for streams.
    #[derive(Clone, Debug)]
    pub struct RecognizerArgs {
        /// Scaling factor for acoustic log-likelihoods
        pub acoustic_scale: f32 = 0.1,
        pub looped: LoopedArgs,
        pub search: SearchArgs,
        pub endpoint: EndpointArgs,
    }
}

kaldi_io::options! {
    /// The options of vosk's conf/model.conf.
    #[derive(Clone, Debug)]
    pub struct ModelArgs {
        pub recognizer: RecognizerArgs,
        pub incremental: IncrementalArgs,
    }
}
