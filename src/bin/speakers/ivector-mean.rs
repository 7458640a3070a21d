//! `ivector-mean`: means of vectors, of all or by speaker.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::num;
use kaldi_io::RandomReader;
use kaldi_io::holder::{I32Holder, TokenVectorHolder, VectorHolder};
use kaldi_speaker::vectors::{Mean, norm};
use nnet3::messages;
use nnet3::tables::{self, Input, Output};

/// With 3 or 4 arguments, averages iVectors over all the utterances of each speaker using the spk2utt file. With 2
/// arguments, averages the iVectors of a table into a file.
///
/// Speakers without vectors are left out with a warning.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: ivector-mean data/spk2utt exp/ivectors.ark exp/spk_ivectors.ark exp/spk_num_utts.ark\n  \
    or: ivector-mean ark:exp/ivectors.ark exp/mean.vec\n\
    See also: ivector-subtract-global-mean"
)]
pub struct Options {
    /// If true, write output in binary mode (only with 2 arguments)
    #[arg(long, default_value_t = false)]
    binary: bool,
    #[arg(
        value_name = "(<ivector-rspecifier> <mean-wxfilename>|<spk2utt-rspecifier> <ivector-rspecifier> <ivector-wspecifier> [<num-utt-wspecifier>])",
        required = true,
        num_args = 2..=4
    )]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    match &options.arguments[..] {
        [vectors, file] => global(vectors, file, options.binary),
        [spk2utt, vectors, means] => by_speaker(spk2utt, vectors, means, None),
        [spk2utt, vectors, means, counts] => by_speaker(spk2utt, vectors, means, Some(counts)),
        _ => bail!("expected 2, 3 or 4 arguments"),
    }
}

fn global(vectors: &str, file: &str, binary: bool) -> Result<u8> {
    let mut sum = Mean::default();
    Input::<VectorHolder>::open(vectors)?.for_each(|key, vector| {
        if vector.is_empty() {
            messages::warn(&format!("{key}: empty vector"));
            return Ok(());
        }
        Ok(sum.add(&vector)?)
    })?;
    let mean = sum.mean().with_context(|| format!("{vectors}: No iVectors read"))?;
    kaldi_io::write_object(file, binary, &mean)?;
    Ok(0)
}

fn by_speaker(spk2utt: &str, vectors: &str, means: &str, counts: Option<&String>) -> Result<u8> {
    let input = Input::<TokenVectorHolder>::open(spk2utt)?;
    let mut table = RandomReader::<VectorHolder>::open(vectors)?;
    let mut output = Output::<VectorHolder>::open(means)?;
    let mut counts = counts.map(|counts| Output::<I32Holder>::open(counts)).transpose()?;
    let (mut all, mut used, mut absent, mut squares) = (Mean::default(), 0, 0u64, 0.0);
    input.for_each(|speaker, utterances| {
        if utterances.is_empty() {
            bail!("Speaker with no utterances.");
        }
        let mut sum = Mean::default();
        for utterance in &utterances {
            match table.get(utterance)? {
                Some(vector) if vector.is_empty() => {
                    messages::warn(&format!("{utterance}: empty vector"));
                    absent += 1;
                }
                Some(vector) => sum.add(vector).with_context(|| format!("utterance {utterance}"))?,
                None => {
                    messages::warn(&format!("No iVector present in input for utterance {utterance}"));
                    absent += 1;
                }
            }
        }
        let Some(mean) = sum.mean() else {
            messages::warn(&format!(
                "Not producing output for speaker {speaker} since no utterances had iVectors"
            ));
            output.failed += 1;
            return Ok(());
        };
        let mean: Vec<f32> = mean.iter().map(|&x| x as f32).collect();
        all.add(&mean)?;
        squares += mean.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        used += sum.count();
        output.write(speaker, &mean)?;
        match &mut counts {
            Some(counts) => counts.write(speaker, &i32::try_from(sum.count())?),
            None => Ok(()),
        }
    })?;
    table.close()?;
    let (speakers, failed) = (output.done, output.failed);
    messages::log(&format!(
        "Computed mean of {speakers} speakers ({failed} with no utterances), consisting of {used} utterances \
         ({absent} absent from input)."
    ));
    if let Some(mean) = all.mean() {
        let length = (squares / (all.count() as f64 * mean.len() as f64)).sqrt();
        messages::log(&format!(
            "Norm of mean of speakers is {}, root-mean-square speaker-iVector length divided by sqrt(dim) is {}",
            num(norm(&mean)),
            num(length)
        ));
        counts.map_or(Ok(0), tables::Output::finish)?;
    }
    output.finish()
}
