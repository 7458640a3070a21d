//! `ivector-extract`: the i-vector of each utterance, or of each speaker.

use anyhow::{Result, bail};
use kaldi_io::read_object;
use kaldi_ivector::IvectorExtractor;
use kaldi_ivector::extract::Estimator;
use nnet3::options::threads;

use crate::ivectors::derived::logged;
use crate::ivectors::extraction::{Limits, Tables, by_speaker, by_utterance};

/// Extract iVectors for utterances, using a trained iVector extractor, and features and Gaussian-level posteriors.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: fgmm-global-gselect-to-post 1.ubm scp:feats.scp 'ark:gunzip -c gselect.1.gz|' ark:- | \
    ivector-extract final.ie scp:feats.scp ark,s,cs:- ark,t:ivectors.1.ark\n\
    See also: ivector-extract-online, ivector-extract-online2"
)]
pub struct Options {
    /// If true, compute the change in objective function from using nonzero iVector (a potentially useful diagnostic).
    /// Combine with --verbose=2 for per-utterance information
    #[arg(long, default_value_t = true)]
    compute_objf_change: bool,
    /// Supply this option if you want iVectors to be output at the per-speaker level, estimated using stats accumulated from
    /// multiple utterances. Note: this is not the normal way iVectors are obtained for speaker-id. It excludes
    /// --num-threads above 1.
    #[arg(long, default_value = "")]
    spk2utt: String,
    #[command(flatten)]
    limits: Limits,
    /// Number of threads
    #[arg(long, default_value_t = 1)]
    num_threads: i32,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 0)]
    num_threads_total: i32,
    model_in: String,
    #[command(flatten)]
    tables: Tables,
}

pub fn run(options: Options) -> Result<u8> {
    let threads = threads::number("num-threads", options.num_threads.into())?;
    if !options.spk2utt.is_empty() && threads.get() > 1 {
        bail!("--spk2utt option is incompatible with --num-threads option");
    }
    let extractor: IvectorExtractor = read_object(&options.model_in)?;
    let estimator = logged(|| Estimator::new(&extractor, options.compute_objf_change, threads));
    drop(extractor);
    match options.spk2utt.is_empty() {
        true => by_utterance(estimator, &options.limits, &options.tables, options.compute_objf_change),
        false => by_speaker(
            estimator,
            &options.limits,
            &options.tables,
            &options.spk2utt,
            options.compute_objf_change,
        ),
    }
}
