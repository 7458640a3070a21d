//! Limits of the search, and the processing of its lattice.

use nnet3_decode::decoder::{Pruning, SearchOptions};
use nnet3_decode::determinize::PhoneOptions;

use super::{Error, Result};

/// Writes an error about a limit of a search as one about the option of the same name.
pub fn of_option(error: nnet3_decode::Error) -> Error {
    match error {
        nnet3_decode::Error::Option { .. } => Error::Value(format!("--{error}")),
        error => Error::Value(error.to_string()),
    }
}

kaldi_io::options! {
    /// Limits of the search, and the processing of its lattice.
    #[derive(Clone, Debug)]
    pub struct SearchArgs {
        /// Decoding beam. Larger->slower, more accurate.
        pub beam: f32 = 16.0,
        /// Decoder max active states. Larger->slower; more accurate
        pub max_active: usize = i32::MAX as usize,
        /// Decoder minimum #active states.
        pub min_active: usize = 200,
        /// Lattice generation beam. Larger->slower, and deeper lattices
        pub lattice_beam: f32 = 10.0,
        /// Interval (in frames) at which to prune tokens
        pub prune_interval: usize = 25,
        /// If true, determinize the lattice (lattice-determinization, keeping only best pdf-sequence for each word-sequence).
        pub determinize_lattice: bool = true,
        /// Increment used in decoding-- this parameter is obscure and relates to a speedup in the way the max-active
        /// constraint is applied. Larger is more accurate.
        pub beam_delta: f32 = 0.5,
        /// Setting used in decoder to control hash behavior
        pub hash_ratio: f32 = 2.0,
        /// Size of pools for tokens. It has no effect: all tokens are in one array.
        pub memory_pool_tokens_block_size: u32 = 256,
        /// Size of pools for links. It has no effect: all links are in one array.
        pub memory_pool_links_block_size: u32 = 256,
        /// Tolerance used in determinization
        pub delta: f32 = nnet3_decode::weight::DELTA,
        /// Maximum approximate memory usage in determinization (real usage might be many times this).
        pub max_mem: i32 = 50_000_000,
        /// If true, do an initial pass of determinization on both phones and words (see also --word-determinize)
        pub phone_determinize: bool = true,
        /// If true, do a second pass of determinization on words only (see also --phone-determinize)
        pub word_determinize: bool = true,
        /// If true, push and minimize after determinization.
        pub minimize: bool = false,
    }
}

impl Default for SearchArgs {
    fn default() -> SearchArgs {
        kaldi_io::options::defaults()
    }
}

impl SearchArgs {
    /// Returns the limits of the search.
    pub fn options(&self) -> SearchOptions {
        SearchOptions {
            pruning: Pruning {
                beam: self.beam,
                max_active: self.max_active,
                min_active: self.min_active,
                beam_delta: self.beam_delta,
                hash_ratio: self.hash_ratio,
            },
            lattice_beam: self.lattice_beam,
            prune_interval: self.prune_interval,
            ..SearchOptions::default()
        }
    }

    /// Checks the limits.
    ///
    /// # Errors
    /// Limits out of range.
    pub fn check(&self) -> Result<()> {
        self.options().check().map_err(of_option)
    }

    /// Returns a remark about options that leave the lattice undeterminized.
    pub fn remark(&self) -> Option<&'static str> {
        let copied = self.determinize_lattice && !self.phone_determinize && !self.word_determinize;
        copied.then_some(
            "Both --phone-determinize and --word-determinize are set to false, copying lattice without determinization.",
        )
    }

    /// Returns the options of the determinization.
    pub fn determinization(&self) -> PhoneOptions {
        PhoneOptions {
            delta: self.delta,
            max_mem: self.max_mem,
            phone_determinize: self.phone_determinize,
            word_determinize: self.word_determinize,
            minimize: self.minimize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::given;
    use super::*;

    #[test]
    fn limits_have_the_names_of_options() {
        let check = |options: &[&str]| given::<SearchArgs>("test", options).unwrap().check();
        check(&["--beam=0"]).unwrap();
        for (options, expected) in [
            (&["--beam=-1"][..], "--beam=-1: expected at least 0"),
            (&["--min-active=7", "--max-active=5"], "--min-active=7: expected at most max-active=5"),
            (&["--prune-interval=0"], "--prune-interval=0: expected at least 1"),
        ] {
            assert_eq!(check(options).unwrap_err().to_string(), expected);
        }
    }
}
