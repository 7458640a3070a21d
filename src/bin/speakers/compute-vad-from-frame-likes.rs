//! `compute-vad-from-frame-likes`: labels frames by the likelihoods of classes.

use crate::speakers::labels;
use anyhow::{Context, Result, bail};
use kaldi_io::RandomReader;
use kaldi_io::holder::VectorHolder;
use kaldi_speaker::vad_labels::Classes;
use nnet3::{messages, tables};

/// This program computes frame-level voice activity decisions from a set of input frame-level log-likelihoods. Usually,
/// these log-likelihoods are the output of fgmm-global-get-frame-likes. Frames are assigned labels according to the
/// class for which the log-likelihood (optionally weighted by a prior) is maximal.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: compute-vad-from-frame-likes --map=label_map.txt scp:likes1.scp scp:likes2.scp ark:vad.ark\n\
    See also: fgmm-global-get-frame-likes, compute-vad, merge-vads"
)]
pub struct Options {
    /// Table that defines the frame-level labels: lines of class and label
    #[arg(long, default_value = "")]
    map: String,
    /// Prior probabilities of the classes, a comma-separated list. If not specified, uniform
    #[arg(long, default_value = "")]
    priors: String,
    #[arg(
        value_name = "<likes-rspecifier-1> ... <likes-rspecifier-n> <vad-wspecifier>",
        required = true,
        num_args = 3..
    )]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Some((to, [first, others @ ..])) = options.arguments.split_last() else {
        bail!("expected at least two tables of likelihoods and an output");
    };
    let mut priors = Vec::new();
    for prior in options.priors.split(',').filter(|prior| !prior.is_empty()) {
        let value = kaldi_io::text::parse_real(prior)
            .with_context(|| format!("--priors: '{prior}' is not a number"))?;
        priors.push(value as f32);
    }
    let map: Vec<(i32, i32)> = labels::read_map::<2>(&options.map)?.iter().map(|&[a, b]| (a, b)).collect();
    let classes = Classes::new(1 + others.len(), &map, &priors)?;
    let mut tables_of_others = Vec::new();
    for other in others {
        tables_of_others.push(RandomReader::<VectorHolder>::open(other)?);
    }
    let output = tables::map::<VectorHolder, VectorHolder>(first, to, |key, likes| {
        if likes.is_empty() {
            return tables::skip_as(format!("Empty vector for utterance {key}"));
        }
        let mut all = vec![likes];
        for (table, name) in tables_of_others.iter_mut().zip(others) {
            match table.get(key)? {
                Some(likes) => all.push(likes.clone()),
                None => return tables::skip_as(format!("No vector for utterance {key} ({name})")),
            }
        }
        match classes.decide(&all) {
            Ok(decisions) => Ok(Ok(decisions)),
            Err(reason) => tables::skip(reason),
        }
    })?;
    for table in tables_of_others {
        table.close()?;
    }
    let (done, failed) = (output.done, output.failed);
    messages::log(&format!("Labelled the frames of {done} utterances; {failed} had errors."));
    output.finish()
}
