//! Bands of sound that a model can do without.

kaldi_io::options! {
    /// Options of the file `conf/bands.conf` in the folder of a model.
    #[derive(Clone, Debug)]
    pub struct BandArgs {
        /// The model was also trained with sound whose upper bands are missing, as compression and telephones leave it.
        pub missing_bands: bool = false,
    }
}
