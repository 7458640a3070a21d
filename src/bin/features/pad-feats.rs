//! `pad-feats`: silence around the words of cut recordings.

use anyhow::Result;
use kaldi_feat::augmentation::Ranges;
use kaldi_feat::padding::Silence;
use kaldi_io::holder::{I32VectorHolder, MatrixHolder};
use nnet3::options::made_with::MadeWith;
use nnet3::tables::{Input, Output};
use nnet3::{messages, tables};

/// Put silence before and after a part of the utterances, for training: digital silence, or quiet noise that lies under the words, too.
///
/// Recordings that were cut where the words begin and end teach a model no pauses. What an utterance gets depends on its key and the seed, so
/// the result is the same however the data are split.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: compute-mfcc-feats --config=conf/mfcc_hires.conf scp:wav.scp ark:- | pad-feats --mfcc-config=conf/mfcc_hires.conf ark:- ark:feats.ark\n\
    See also: pad-ali, augment-feats, extend-wav-with-silence"
)]
pub struct Options {
    #[command(flatten)]
    made_with: MadeWith,
    /// Part of the utterances that get silence
    #[arg(long, default_value_t = Silence::default().part)]
    part: f64,
    /// Frames on each side, at least; with --max-frames of the same number, so many
    #[arg(long, default_value_t = Silence::default().least_frames)]
    min_frames: usize,
    /// Frames on each side, at most
    #[arg(long, default_value_t = Silence::default().most_frames)]
    max_frames: usize,
    /// Frames before the words are a multiple of this, for networks with one output for so many frames
    #[arg(long, default_value_t = Silence::default().multiple)]
    multiple: usize,
    /// Table for pad-ali: frames before the words, of the words, and after them
    #[arg(long, default_value = "")]
    write_silence: String,
    /// Part of these utterances whose silence is digital: samples of zero
    #[arg(long, default_value_t = Silence::default().digital)]
    digital: f64,
    /// Lowest ratio of speech to the noise of other utterances, in decibels
    #[arg(long, default_value_t = Silence::default().snr.0)]
    min_snr: f64,
    /// Highest ratio of speech to the noise of other utterances, in decibels
    #[arg(long, default_value_t = Silence::default().snr.1)]
    max_snr: f64,
    /// Seed
    #[arg(long, default_value_t = 0)]
    srand: u64,
    feats_rspecifier: String,
    feats_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let silence = Silence {
        part: options.part,
        least_frames: options.min_frames,
        most_frames: options.max_frames,
        multiple: options.multiple,
        digital: options.digital,
        snr: (options.min_snr, options.max_snr),
    };
    silence.check()?;
    let made = options.made_with.augmentation(Ranges::default())?;
    let input = Input::<MatrixHolder>::open(&options.feats_rspecifier)?;
    let mut output = Output::<MatrixHolder>::open(&options.feats_wspecifier)?;
    let mut table = match options.write_silence.as_str() {
        "" => None,
        wspecifier => Some(Output::<I32VectorHolder>::open(wspecifier)?),
    };
    let (mut utterances, mut padded) = (0, 0);
    input.for_each(|key, features| {
        utterances += 1;
        if features.rows == 0 {
            output.skip_as(&tables::no_frames(key));
            return Ok(());
        }
        let [before, after] = match silence.around(&features, &made, key, options.srand) {
            Ok(Some((longer, frames))) => {
                padded += 1;
                output.write(key, &longer)?;
                frames
            }
            Ok(None) => {
                output.write(key, &features)?;
                [0, 0]
            }
            Err(error) => {
                output.skip(key, error.to_string());
                return Ok(());
            }
        };
        match &mut table {
            None => Ok(()),
            Some(table) => {
                table.write(key, &[before, features.rows, after].map(|frames| frames as i32).to_vec())
            }
        }
    })?;
    if let Some(table) = table {
        table.finish()?;
    }
    messages::log(&format!("Put silence around {padded} of {utterances} utterances."));
    output.finish()
}
