//! `apply-cmvn-online`: normalisation as in online decoding.

use anyhow::{Context, Result};
use kaldi_cli::Group;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::OnlineCmvn;
use kaldi_io::RandomReader;
use kaldi_io::holder::{MatrixHolder, TokenVectorHolder};
use kaldi_io::object::read_matrix;
use nnet3::messages;
use nnet3::options::cmvn::OnlineCmvnArgs;
use nnet3::tables::{Input, Output};

/// Apply online cepstral mean (and possibly variance) computation, as in online decoding.
///
/// If the --spk2utt option is used, it uses prior utterances from the same speaker to back off to at the utterance
/// beginning. See also apply-cmvn-sliding.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g. apply-cmvn-online 'matrix-sum scp:data/train/cmvn.scp -|' \
    scp:data/train/split8/1/feats.scp ark:-\n\
    or: apply-cmvn-online --spk2utt=ark:data/train/split8/1/spk2utt 'matrix-sum scp:data/train/cmvn.scp -|' \
    scp:data/train/split8/1/feats.scp ark:-")]
pub struct Options {
    /// Rspecifier for speaker to utterance-list map
    #[arg(long, default_value = "")]
    spk2utt: String,
    #[command(flatten)]
    cmvn: Group<OnlineCmvnArgs>,
    global_cmvn_stats: String,
    feature_rspecifier: String,
    feature_wspecifier: String,
}

impl Options {
    fn cmvn(&self) -> Result<OnlineCmvn> {
        let global = CmvnStats::from_matrix(&read_matrix(&self.global_cmvn_stats)?);
        let global = global.with_context(|| self.global_cmvn_stats.clone())?;
        OnlineCmvn::new(self.cmvn.options()?, global).with_context(|| self.global_cmvn_stats.clone())
    }
}

pub fn run(options: Options) -> Result<u8> {
    let mut cmvn = options.cmvn()?;
    let from = &options.feature_rspecifier;
    let mut frames = 0;
    let output = if options.spk2utt.is_empty() {
        let input = Input::<MatrixHolder>::open(from)?;
        let mut output = Output::<MatrixHolder>::open(&options.feature_wspecifier)?;
        input.for_each(|key, features| {
            cmvn.next_speaker();
            frames += features.rows;
            output.write(key, &cmvn.normalize(&features)?)
        })?;
        output
    } else {
        let input = Input::<TokenVectorHolder>::open(&options.spk2utt)?;
        let mut table = RandomReader::<MatrixHolder>::open(from)?;
        let mut output = Output::<MatrixHolder>::open(&options.feature_wspecifier)?;
        input.for_each(|_, utterances| {
            cmvn.next_speaker();
            for utterance in &utterances {
                let Some(features) = table.get(utterance)? else {
                    output.skip(utterance, format!("no features in {from}"));
                    continue;
                };
                frames += features.rows;
                let normalized = cmvn.normalize(features).with_context(|| utterance.clone())?;
                output.write(utterance, &normalized)?;
            }
            Ok(())
        })?;
        table.close()?;
        output
    };
    messages::log(&format!("Applied online CMVN to {} files, or {frames} frames.", output.done));
    output.finish()
}
