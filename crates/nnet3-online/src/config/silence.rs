//! Weights of silence for i-vectors.

use kaldi_online::silence::SilenceWeightingOptions;

use super::endpoint::phones;
use super::{Error, Result};

kaldi_io::options! {
    /// Weight of silence for i-vectors.
    #[derive(Clone, Debug)]
    pub struct SilenceWeightingArgs {
        /// List of integer ids of silence phones, separated by colons (or commas), for iVectors in online decoding. Data
        /// that (according to the traceback of the decoder) corresponds to these phones will be downweighted by
        /// --silence-weight.
        pub silence_phones("ivector-silence-weighting.silence-phones"): String = "",
        /// Weighting factor in iVector estimation for frames that the decoder trace-back
        /// identifies as silence; only relevant if the --silence-phones option is set.
        pub silence_weight("ivector-silence-weighting.silence-weight"): f32 = 1.0,
        /// Maximum allowed duration of a single transition-id; runs
        /// with durations of this or longer will be weighted down to the silence-weight.
        pub max_state_duration("ivector-silence-weighting.max-state-duration"): f32 = -1.0,
    }
}

impl SilenceWeightingArgs {
    /// Returns the options as the library takes them.
    ///
    /// # Errors
    /// A phone is no number, or a weight is out of range.
    pub fn options(&self) -> Result<SilenceWeightingOptions> {
        let phones = phones(&self.silence_phones, &[':', ',']);
        if !self.silence_weight.is_finite() {
            refuse!("--ivector-silence-weighting.silence-weight={}: expected a number", self.silence_weight);
        }
        Ok(SilenceWeightingOptions {
            silence_phones: phones.map_err(Error::of("--ivector-silence-weighting.silence-phones"))?,
            silence_weight: self.silence_weight,
            max_state_duration: self.max_state_duration as i32,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::given;
    use super::*;

    fn parse(options: &[&str]) -> SilenceWeightingArgs {
        given("test", options).unwrap()
    }

    fn refused<T>(result: Result<T>, words: &str) {
        let error = kaldi_io::error::chain(&result.err().unwrap());
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn silence_weights() {
        let options = |options: &[&str]| parse(options).options();
        assert!(!options(&[]).unwrap().is_active());
        let set = options(&[
            "--ivector-silence-weighting.silence-phones=1,2:3",
            "--ivector-silence-weighting.silence-weight=0.001",
            "--ivector-silence-weighting.max-state-duration=20.5",
        ]);
        let expected = SilenceWeightingOptions {
            silence_phones: BTreeSet::from([1, 2, 3]),
            silence_weight: 0.001,
            max_state_duration: 20,
        };
        assert_eq!(set.unwrap(), expected);
        refused(options(&["--ivector-silence-weighting.silence-phones=a"]), "'a': expected a colon");
        refused(options(&["--ivector-silence-weighting.silence-weight=inf"]), "expected a number");
    }
}
