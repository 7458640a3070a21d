//! `copy-feats-to-htk`: features as HTK files, one for each utterance.

use anyhow::Result;
use kaldi_feat::htk::{HtkFeatures, HtkFeaturesHolder};
use kaldi_io::holder::Holder;
use nnet3::messages;

use super::files::write_each;

/// Save features as HTK files: each utterance will be stored as a unique HTK file in a specified directory.
///
/// The HTK filename will correspond to the utterance-id (key) in the input table, with the specified extension.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: copy-feats-to-htk --output-dir=/tmp/HTK-features --output-ext=fea scp:feats.scp"
)]
pub struct Options {
    /// The HTK output directory
    #[arg(long, default_value = "./")]
    output_dir: String,
    /// The output ext of HTK files
    #[arg(long, default_value = "fea")]
    output_ext: String,
    /// HTK sampPeriod - sample period in 100ns units
    #[arg(long, default_value_t = 100_000)]
    sample_period: i32,
    /// HTK parmKind - a code indicating the sample kind (e.g., 6=MFCC, 7=FBANK, 9=USER, 11=PLP)
    #[arg(long, default_value_t = 9)]
    sample_kind: u16,
    in_rspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (folder, suffix) = (&options.output_dir, &options.output_ext);
    let (period, kind) = (options.sample_period, options.sample_kind);
    let done = write_each(&options.in_rspecifier, folder, suffix, |writer, features| {
        HtkFeaturesHolder::write(writer, &HtkFeatures { features, period, kind })
    })?;
    // ("direcory" is the reference's spelling.)
    messages::log(&format!("{done} HTK feature files generated in the direcory: {folder}"));
    Ok(0)
}
