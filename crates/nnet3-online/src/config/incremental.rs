//! Options about when lattices are determinized.

use nnet3_decode::decoder::ChunkOptions;

use super::Result;
use super::search::of_option;

kaldi_io::options! {
    /// Options of the incremental decoder, which determinizes lattices while the search goes on.
    #[derive(Clone, Debug)]
    pub struct IncrementalArgs {
        /// Maximum frames of delay between decoding a frame and determinizing it
        pub determinize_max_delay: i32 = 60,
        /// Minimum chunk size used in determinization, in frames
        pub determinize_min_chunk_size: i32 = 20,
        /// Maximum number of tokens at the last frame of a chunk. If every frame has more, the chunk waits.
        pub determinize_max_active: i32 = 200,
    }
}

impl IncrementalArgs {
    /// The lengths of chunks.
    ///
    /// # Errors
    /// Values that the reference refuses.
    pub fn options(&self) -> Result<ChunkOptions> {
        let options = ChunkOptions {
            max_delay: number("determinize-max-delay", self.determinize_max_delay)?,
            min_size: number("determinize-min-chunk-size", self.determinize_min_chunk_size)?,
            max_active: number("determinize-max-active", self.determinize_max_active)?,
        };
        options.check().map_err(of_option)?;
        Ok(options)
    }
}

fn number(name: &str, value: i32) -> Result<usize> {
    match usize::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => refuse!("--{name}={value}: expected 0 or more"),
    }
}
