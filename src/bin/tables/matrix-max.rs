//! `matrix-max`: takes the element-wise maximum of matrices of each speaker.

use anyhow::Result;
use kaldi_feat::elementwise::Maximum;
use kaldi_io::RandomReader;
use kaldi_io::holder::{MatrixHolder, TokenVectorHolder};
use nnet3::messages;
use nnet3::tables::{Input, Output};

/// Compute for each speaker the element-wise maximum of the matrices of the utterances, cut to the rows of the shortest.
///
/// Elements of the result are 0 at least, as in Kaldi.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: matrix-max ark:spk2utt ark:mats.ark ark:max.ark\n\
    See also: matrix-sum, matrix-sum-rows")]
pub struct Options {
    /// Write output in binary mode. It has no effect: the wspecifier gives the mode.
    #[arg(long, default_value_t = false)]
    binary: bool,
    spk2utt_rspecifier: String,
    matrix_rspecifier: String,
    matrix_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let speakers = Input::<TokenVectorHolder>::open(&options.spk2utt_rspecifier)?;
    let mut matrices = RandomReader::<MatrixHolder>::open(&options.matrix_rspecifier)?;
    let mut output = Output::<MatrixHolder>::open(&options.matrix_wspecifier)?;
    let (mut used, mut missing) = (0u64, 0u64);
    speakers.for_each(|speaker, utterances| {
        let (mut maximum, mut names) = (Maximum::default(), Vec::new());
        for utterance in &utterances {
            match matrices.get(utterance)? {
                None => {
                    messages::warn(&format!("No matrix for utterance {utterance} of speaker {speaker}"));
                    missing += 1;
                }
                Some(matrix) => match maximum.add(matrix) {
                    Ok(()) => names.push((utterance, matrix.rows)),
                    Err(error) => messages::warn(&format!("{utterance}: {error}")),
                },
            }
        }
        let Some(maximum) = maximum.finish() else {
            output.skip(speaker, "no matrix of any utterance");
            return Ok(());
        };
        for (utterance, rows) in names.iter().filter(|(_, rows)| *rows > maximum.rows) {
            messages::warn(&format!("Cropping rows of matrix {utterance} from {rows} to {}", maximum.rows));
        }
        used += names.len() as u64;
        output.write(speaker, &maximum)
    })?;
    matrices.close()?;
    messages::log(&format!(
        "Computed max for {} speakers ({} with no utterances), consisting of {used} utterances ({missing} absent from input).",
        output.done, output.failed
    ));
    output.finish()
}
