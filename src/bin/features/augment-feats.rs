//! `augment-feats`: copies of features as other voices, microphones and rooms would give them.

use anyhow::Result;
use kaldi_feat::augmentation::{Augmentation, Ranges};
use kaldi_io::holder::MatrixHolder;
use nnet3::options::made_with::MadeWith;
use nnet3::tables::{Input, Output};
use nnet3::{messages, tables};

/// Add to features copies as other voices, microphones and rooms would give them, for training.
///
/// Frequencies are warped, slopes, levels and noise change, and upper bands are cut off, at random for each copy. Frames stay where they are, so alignments hold for
/// copies, too. The first copy of the utterance KEY is aug1-KEY. The result is the same however the data are split.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: augment-feats --mfcc-config=conf/mfcc_hires.conf --num-copies=5 scp:feats.scp ark,scp:feats.ark,feats_aug.scp\n\
    See also: pad-feats, wav-perturb, wav-reverberate"
)]
pub struct Options {
    #[command(flatten)]
    made_with: MadeWith,
    /// Copies of each utterance
    #[arg(long, default_value_t = 1)]
    num_copies: usize,
    /// If true, the utterances themselves are written, too
    #[arg(long, default_value_t = true)]
    keep_original: bool,
    /// Frequencies are multiplied by exp(-warp) to exp(warp)
    #[arg(long, default_value_t = Ranges::default().warp)]
    warp: f64,
    /// Standard deviation of the slope of the spectrum from the lowest to the highest band, in decibels
    #[arg(long, default_value_t = Ranges::default().channel)]
    channel: f64,
    /// The level changes by at most so many decibels
    #[arg(long, default_value_t = Ranges::default().level)]
    level: f64,
    /// Part of the copies that have noise
    #[arg(long, default_value_t = Ranges::default().noise)]
    noise: f64,
    /// Lowest ratio of speech to noise, in decibels
    #[arg(long, default_value_t = Ranges::default().snr.0)]
    min_snr: f64,
    /// Highest ratio of speech to noise, in decibels
    #[arg(long, default_value_t = Ranges::default().snr.1)]
    max_snr: f64,
    /// Part of the copies whose upper bands are nearly empty, as telephones and codecs of few bits leave them
    #[arg(long, default_value_t = Ranges::default().cut)]
    cut: f64,
    /// Seed
    #[arg(long, default_value_t = 0)]
    srand: u64,
    feats_rspecifier: String,
    feats_wspecifier: String,
}

impl Options {
    fn augmentation(&self) -> Result<Augmentation> {
        let ranges = Ranges {
            warp: self.warp,
            channel: self.channel,
            level: self.level,
            noise: self.noise,
            snr: (self.min_snr, self.max_snr),
            cut: self.cut,
        };
        self.made_with.augmentation(ranges)
    }
}

pub fn run(options: Options) -> Result<u8> {
    let augmentation = options.augmentation()?;
    let input = Input::<MatrixHolder>::open(&options.feats_rspecifier)?;
    let mut output = Output::<MatrixHolder>::open(&options.feats_wspecifier)?;
    let mut utterances = 0;
    input.for_each(|key, features| {
        utterances += 1;
        if features.rows == 0 {
            output.skip_as(&tables::no_frames(key));
            return Ok(());
        }
        for copy in 1..=options.num_copies {
            let name = format!("aug{copy}-{key}");
            match augmentation.apply(&features, key, copy, options.srand) {
                Ok(changed) => output.write(&name, &changed)?,
                Err(error) => {
                    output.skip(key, error.to_string());
                    return Ok(());
                }
            }
        }
        if options.keep_original {
            output.write(key, &features)?;
        }
        Ok(())
    })?;
    messages::log(&format!(
        "Made {} copies of {} of {utterances} utterances.",
        options.num_copies,
        utterances - output.failed
    ));
    output.finish()
}
