//! `pad-ali`: alignments of features with silence around them.

use anyhow::{Context, bail};
use kaldi_hmm::convert::Conversion;
use kaldi_hmm::{ContextDependency, Error, TransitionModel};
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::{RandomReader, read_object};
use nnet3::messages;
use nnet3::tables::{self, Outcome, Skip};
use nnet3_core::c_rand::CRand;

/// Put a phone of silence before and after alignments, where pad-feats has put silence.
///
/// The table is that of pad-feats' --write-silence, with --multiple as the factor here. The tree gives the pdfs of phones with another
/// neighbour.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: pad-ali --frame-subsampling-factor=3 tree/final.mdl tree/tree 1 ark:ali.1 ark:silence ark:padded/ali.1\n\
    See also: pad-feats, convert-ali"
)]
pub struct Options {
    /// Alignments have one frame for so many frames of features (the last may have fewer)
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: i32,
    model: String,
    tree: String,
    /// The number of the phone of silence
    silence_phone: i32,
    alignments_rspecifier: String,
    silence_rspecifier: String,
    alignments_wspecifier: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let factor = match usize::try_from(options.frame_subsampling_factor) {
        Ok(factor) if factor > 0 => factor,
        _ => bail!("--frame-subsampling-factor={} must be positive", options.frame_subsampling_factor),
    };
    let model: TransitionModel = read_object(&options.model)?;
    let tree: ContextDependency = read_object(&options.tree)?;
    if model.topology().entry(options.silence_phone).is_none() {
        bail!("{} has no phone {}", options.model, options.silence_phone);
    }
    let mut silence = RandomReader::<I32VectorHolder>::open(&options.silence_rspecifier)?;
    let conversion = Conversion {
        from: &model,
        to: &model,
        tree: &tree,
        subsampling_factor: 1,
        repeat_frames: false,
        reorder: true,
        map_phone: None,
    };
    let mut generator = CRand::default();
    let (old, new) = (&options.alignments_rspecifier, &options.alignments_wspecifier);
    let output = tables::map::<I32VectorHolder, I32VectorHolder>(old, new, |key, alignment| {
        let Some(frames) = silence.get(key)? else {
            return tables::skip(format!("no frames of silence in {}", options.silence_rspecifier));
        };
        let around = match frames_around(frames, alignment.len(), factor) {
            Ok(around) => around,
            Err(skip) => return Ok(Err(skip)),
        };
        let ids = model.transition_ids(&alignment)?;
        match conversion.pad(&ids, options.silence_phone, around, &mut || generator.next()) {
            Ok(ids) => Ok(Ok(ids.into_iter().map(|id| id.get() as i32).collect())),
            Err(error @ (Error::Alignment(_) | Error::Frame { .. })) => {
                tables::skip(format!("the alignment gets no silence: {}", kaldi_io::error::chain(&error)))
            }
            Err(other) => Err(other).with_context(|| format!("{} and {}", options.model, options.tree)),
        }
    })?;
    silence.close()?;
    messages::log(&format!("Put silence around {} alignments, failed for {}", output.done, output.failed));
    output.finish()
}

/// Frames of the alignment before and after the words, from frames of features: before, of the words, after.
fn frames_around(frames: &[i32], aligned: usize, factor: usize) -> Outcome<(usize, usize)> {
    let numbers: Option<Vec<usize>> = frames.iter().map(|&n| usize::try_from(n).ok()).collect();
    let Some([before, words, after]) = numbers.as_deref() else {
        return Err(Skip::Reason(format!("expected three numbers of frames, found {frames:?}")));
    };
    if before % factor != 0 {
        return Err(Skip::Reason(format!("{before} frames before the words are no multiple of {factor}")));
    }
    if words.div_ceil(factor) != aligned {
        return Err(Skip::Reason(format!("{words} frames of features and {aligned} of the alignment")));
    }
    Ok((before / factor, (before + words + after).div_ceil(factor) - before / factor - aligned))
}
