//! `copy-feats-to-sphinx`: features as Sphinx files, one for each utterance.

use anyhow::Result;
use kaldi_feat::sphinx;
use nnet3::messages;

use super::files::write_each;

/// Save features as Sphinx files: each utterance will be stored as a unique Sphinx file in a specified directory.
///
/// The Sphinx filename will correspond to the utterance-id (key) in the input table, with the specified extension.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: copy-feats-to-sphinx --output-dir=/tmp/sphinx-features --output-ext=fea scp:feats.scp"
)]
pub struct Options {
    /// The output directory of Sphinx files
    #[arg(long, default_value = "./")]
    output_dir: String,
    /// The output extension of Sphinx files
    #[arg(long, default_value = "mfc")]
    output_ext: String,
    in_rspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (folder, suffix) = (&options.output_dir, &options.output_ext);
    let write = |writer: &mut _, features| sphinx::write(writer, &features);
    let done = write_each(&options.in_rspecifier, folder, suffix, write)?;
    // ("direcory" is the reference's spelling.)
    messages::log(&format!("{done} Sphinx feature files generated in the direcory: {folder}"));
    Ok(0)
}
