//! Options of discriminative training.

use anyhow::Context;
use clap::Args;
use kaldi_io::text::split_integers;
use nnet3_discriminative::DiscriminativeOptions as Options;

// [DISC]
#[derive(Args, Clone, Debug)]
pub struct DiscriminativeOptions {
    /// Criterion, 'mmi'|'mpfe'|'smbr', determines the objective function to use. Should match option used when we created
    /// the examples.
    #[arg(long, default_value = "smbr")]
    pub criterion: String,
    /// Weighting factor to apply to acoustic likelihoods.
    #[arg(long, default_value_t = 0.1)]
    pub acoustic_scale: f32,
    /// For MMI, if true we drop frames with no overlap of num and den pdf-ids
    #[arg(long, default_value_t = false)]
    pub drop_frames: bool,
    /// Boosting factor for boosted MMI (e.g. 0.1)
    #[arg(long, default_value_t = 0.0)]
    pub boost: f32,
    /// If true, newer behavior which will tend to reduce insertions when using MPFE or SMBR objective
    #[arg(long, default_value_t = false)]
    pub one_silence_class: bool,
    /// For MPFE or SMBR objectives (and boosting), colon-separated list of integer ids of silence phones, e.g. 1:2:3
    #[arg(long, default_value = "")]
    pub silence_phones: String,
    /// l2 regularization constant for 'chain' output of the neural net.
    #[arg(long, default_value_t = 0.0)]
    pub l2_regularize: f32,
    /// Cross-entropy regularization constant for sequence training. If nonzero, the network is expected to have an output
    /// named 'output-xent', which should have a softmax as its final nonlinearity.
    #[arg(long, default_value_t = 0.0)]
    pub xent_regularize: f32,
    /// Accumulate gradients wrt nnet output for debugging discriminative training: nnet3-discriminative-compute-objf and
    /// --verbose=2 print them
    #[arg(long, default_value_t = false)]
    pub accumulate_gradients: bool,
    /// Accumulate nnet output for debugging discriminative training, likewise
    #[arg(long, default_value_t = false)]
    pub accumulate_output: bool,
    /// Number of pdfs, for accumulate-output and accumulate-gradients (no effect: the network's output says it)
    #[arg(long, default_value_t = 0)]
    pub num_pdfs: i32,
}

impl DiscriminativeOptions {
    /// The options as the library takes them. It is an error if a number makes no sense.
    pub fn objective_options(&self) -> anyhow::Result<Options> {
        let phones = &self.silence_phones;
        let silence_phones = match phones.as_str() {
            "" => Vec::new(),
            text => split_integers(text, &[':'], false).with_context(|| {
                format!("--silence-phones={text}: expected integers between colons, as in 1:2:3")
            })?,
        };
        let options = Options {
            criterion: self.criterion.parse()?,
            acoustic_scale: self.acoustic_scale,
            drop_frames: self.drop_frames,
            boost: self.boost,
            one_silence_class: self.one_silence_class,
            silence_phones,
            l2_regularize: self.l2_regularize,
            xent_regularize: self.xent_regularize,
            accumulate_gradients: self.accumulate_gradients,
            accumulate_output: self.accumulate_output,
        };
        options.check()?;
        Ok(options)
    }
}
