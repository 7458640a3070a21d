//! `merge-vads`: merges two sequences of voice activity decisions.

use crate::speakers::labels;
use anyhow::Result;
use kaldi_io::RandomReader;
use kaldi_io::holder::VectorHolder;
use kaldi_speaker::Error;
use kaldi_speaker::vad_labels::Merge;
use nnet3::{messages, tables};

/// This program merges two archives of per-frame weights representing voice activity decisions. By default, the program
/// assumes that the input vectors consist of floats: 0.0 if a frame is judged as nonspeech, 1.0 if it is considered
/// speech. The output of a frame is 1.0 if both inputs are 1.0. An additional feature of this program is that it is
/// possible to merge labels by a map of lines `<label1> <label2> <result>`.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: merge-vads --map=map.txt scp:vad1.scp scp:vad2.scp ark:vad.ark\n\
    See also: compute-vad-from-frame-likes, compute-vad, select-voiced-frames")]
pub struct Options {
    /// This table specifies a mapping from pairs of input labels to an output label
    #[arg(long, default_value = "")]
    map: String,
    vad_rspecifier_1: String,
    vad_rspecifier_2: String,
    vad_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let merge = match options.map.as_str() {
        "" => Merge::default(),
        file => Merge::from_table(&labels::read_map(file)?),
    };
    let mut second = RandomReader::<VectorHolder>::open(&options.vad_rspecifier_2)?;
    let (from, to) = (&options.vad_rspecifier_1, &options.vad_wspecifier);
    let output = tables::map::<VectorHolder, VectorHolder>(from, to, |key, first| {
        if first.is_empty() {
            return tables::skip("no frames");
        }
        let Some(other) = second.get(key)? else {
            return tables::skip_as(format!("No vector for utterance {key} ({})", options.vad_rspecifier_2));
        };
        match merge.merge(&first, other) {
            Ok(merged) => Ok(Ok(merged)),
            Err(Error::Data(reason)) => tables::skip(reason),
            Err(error) => Err(error.into()),
        }
    })?;
    second.close()?;
    messages::log(&format!(
        "Merged voice activity detection decisions; processed {} utterances successfully; {} had errors.",
        output.done, output.failed
    ));
    output.finish()
}
