//! Parts shared by the programs that make trees and their first models.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::{self, Site};
use kaldi_gmm::{AmDiagGmm, DiagGmm};
use kaldi_hmm::{ContextDependency, HmmTopology, TransitionModel};
use kaldi_io::{KaldiReader, read_object};
use kaldi_tree::{Gauss, Message, TreeStats};

use crate::{gaussians, messages};

/// Prints a message of an algorithm.
pub fn print(message: Message) {
    match message {
        Message::Log(text) => messages::log(&text),
        Message::Warning(text) => messages::warn(&text),
        Message::Verbose(level, text) => log::vlog(level, &Site::PROGRAM, &text),
    }
}

/// Reads a text file.
pub fn read_text<T>(
    rxfilename: &str,
    read: impl FnOnce(&mut KaldiReader) -> kaldi_tree::Result<T>,
) -> Result<T> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    let value = read(&mut r)?;
    r.close()?;
    Ok(value)
}

/// Statistics for trees, with a line of how many there are.
pub fn read_stats(rxfilename: &str) -> Result<TreeStats<Gauss>> {
    let stats: TreeStats<Gauss> = read_object(rxfilename)?;
    messages::log(&format!("Number of separate statistics is {}", stats.entries.len()));
    Ok(stats)
}

/// Positions in a window of phones.
pub fn check_context(context_width: i32, central_position: i32) -> Result<(usize, usize)> {
    match (usize::try_from(context_width), usize::try_from(central_position)) {
        (Ok(width), Ok(central)) if central < width => Ok((width, central)),
        _ => bail!("Invalid options: --central-position={central_position}, --context-width={context_width}"),
    }
}

/// Makes the transition model of a tree and a topology, and warns about unusual parts of the topology.
pub fn new_transitions(
    tree: &ContextDependency,
    topology: HmmTopology,
) -> kaldi_hmm::Result<TransitionModel> {
    topology.warnings().iter().for_each(|warning| messages::warn(warning));
    TransitionModel::new(tree, topology)
}

/// A model and a tree that are written.
pub struct ModelFiles<'f> {
    pub model: &'f str,
    pub tree: &'f str,
    pub binary: bool,
}

/// Writes a tree and a model. All its pdfs have the same mixture, or one that `change` makes of it.
pub fn write_flat(
    files: ModelFiles<'_>,
    tree: &ContextDependency,
    topology: HmmTopology,
    gmm: &DiagGmm,
    mut change: impl FnMut(&mut DiagGmm) -> kaldi_gmm::Result<()>,
) -> Result<()> {
    let transitions = new_transitions(tree, topology).context("tree and topology")?;
    let mut pdfs = vec![gmm.clone(); tree.num_pdfs()];
    pdfs.iter_mut().try_for_each(&mut change)?;
    gaussians::write_model(files.model, files.binary, &transitions, &AmDiagGmm::new(pdfs)?)?;
    Ok(kaldi_io::write_object(files.tree, files.binary, tree)?)
}

/// A dimension of features in the command line.
pub fn parse_dim(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(dim @ 1..=9999) => Ok(dim),
        _ => bail!("expected a dimension, from 1 to 9999, found '{text}'"),
    }
}
