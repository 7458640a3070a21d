//! Silence before and after a sound, for models that were trained with it.

use super::Result;

/// More seconds than any model needs.
const MOST_SECONDS: f64 = 5.0;

kaldi_io::options! {
    /// Options of the file `conf/edges.conf` in the folder of a model.
    #[derive(Clone, Debug)]
    pub struct EdgeArgs {
        /// Seconds of digital silence that the recogniser hears before and after each sound: for models that were trained so, since
        /// their recordings are cut close to the words.
        pub edge_silence: f64 = 0.0,
    }
}

impl EdgeArgs {
    /// Returns the seconds.
    ///
    /// # Errors
    /// They are not from 0 to 5.
    pub fn seconds(&self) -> Result<f64> {
        if !(0.0..=MOST_SECONDS).contains(&self.edge_silence) {
            refuse!("--edge-silence={}: expected seconds from 0 to {MOST_SECONDS}", self.edge_silence);
        }
        Ok(self.edge_silence)
    }
}
