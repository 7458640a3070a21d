//! `nnet3-xvector-get-egs`: features and ranges of frames → examples of speakers.

use anyhow::{Context, Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{KaldiReader, TableWriter};
use nnet3::messages;
use nnet3::tables::{Input, no_frames};
use nnet3_train::ExampleHolder;
use nnet3_train::ranges::Ranges;

/// Get examples for training an nnet3 neural network for x-vectors.
///
/// Each line of the ranges file asks for an example: <utterance> <output, from 0> <output among all; not used> <first frame>
/// <number of frames> <label>. Examples come in the order of the utterances.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-xvector-get-egs --num-pdfs=1000 ranges.1 \"$feats\" ark:egs_temp.1.ark ark:egs_temp.2.ark\n\
    See also: nnet3-xvector-compute, nnet3-shuffle-egs"
)]
pub struct Options {
    /// If true, write egs in compressed format.
    #[arg(long, default_value_t = true)]
    compress: bool,
    /// Number of classes, above all labels (must be given)
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    num_pdfs: i32,
    ranges_filename: String,
    features_rspecifier: String,
    #[arg(required = true)]
    egs_out: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Some(classes) = usize::try_from(options.num_pdfs).ok().filter(|&classes| classes > 0) else {
        bail!("--num-pdfs={}: expected the number of classes", options.num_pdfs);
    };
    let file = &options.ranges_filename;
    let ranges = Ranges::parse(&text(file)?, options.egs_out.len(), classes);
    let ranges = ranges.with_context(|| file.clone())?;
    let input = Input::<MatrixHolder>::open(&options.features_rspecifier)?;
    let mut outputs = Vec::new();
    for wspecifier in &options.egs_out {
        outputs.push(TableWriter::<ExampleHolder>::open(wspecifier)?);
    }
    let (mut done, mut failed, mut written) = (0u64, 0u64, 0u64);
    input.for_each(|key, features| {
        let wanted = ranges.of(key);
        let problem = match features.not_finite() {
            _ if wanted.is_empty() => Some(format!(
                "Could not create examples from utterance {key} because it has no entry in the ranges input file."
            )),
            _ if features.rows == 0 => Some(no_frames(key)),
            found => found.map(|found| format!("{key}: the features' {found}")),
        };
        if let Some(problem) = problem {
            messages::warn(&problem);
            failed += 1;
            return Ok(());
        }
        for range in wanted {
            let Some(mut example) = range.example(&features, classes)? else {
                messages::warn(&format!(
                    "Unable to create examples for utterance {key}. Requested chunk size of {} but utterance has only {} frames.",
                    range.frames, features.rows
                ));
                continue;
            };
            if options.compress {
                example.compress()?;
            }
            outputs[range.archive].write(&range.key(key), &example)?;
            written += 1;
        }
        done += 1;
        Ok(())
    })?;
    messages::log(&format!(
        "Finished generating examples, successfully processed {done} feature files, wrote {written} examples; {failed} files had errors."
    ));
    if written == 0 {
        return Ok(NOTHING_DONE);
    }
    outputs.into_iter().try_for_each(TableWriter::close)?;
    Ok(u8::from(failed > done))
}

fn text(rxfilename: &str) -> Result<String> {
    let mut reader = KaldiReader::open_raw(rxfilename)?;
    let mut text = String::new();
    while let Some(line) = reader.read_line()? {
        text += &line;
        text.push('\n');
    }
    reader.close()?;
    Ok(text)
}
