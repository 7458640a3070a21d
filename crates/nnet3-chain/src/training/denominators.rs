//! The choice of the denominator graph for each output.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use nnet3_train::{Error, Result};

use crate::denominator::DenominatorGraph;
use crate::language::language_of_output;

/// Sources of denominator graphs.
#[derive(Clone)]
pub enum Denominators {
    /// All outputs have the same one.
    One(Arc<DenominatorGraph>),
    /// A folder with `LANGUAGE.den.fst` for each output `output-LANGUAGE`, read when an example first has that output.
    Folder(PathBuf),
}

/// The graphs that have been needed so far.
pub(super) struct Graphs {
    denominators: Denominators,
    /// The graphs of a folder that have been read, by language.
    read: BTreeMap<String, DenominatorGraph>,
}

impl Graphs {
    pub fn new(denominators: Denominators) -> Graphs {
        Graphs { denominators, read: BTreeMap::new() }
    }

    /// The graph for an output, for `num_pdfs` if it has to be read.
    pub fn of(&mut self, output: &str, num_pdfs: usize) -> Result<&DenominatorGraph> {
        let folder = match &self.denominators {
            Denominators::One(graph) => return Ok(graph),
            Denominators::Folder(folder) => folder,
        };
        let language = language_of_output(output).ok_or_else(|| {
            Error::data(format!("expected an output named output-LANGUAGE, found '{output}'"))
        })?;
        if !self.read.contains_key(language) {
            let path = folder.join(format!("{language}.den.fst"));
            let fst = kaldi_fst::read_fst(&path.to_string_lossy())?;
            let graph = DenominatorGraph::new(&fst, num_pdfs)
                .map_err(|e| Error::data(format!("{}: {e}", path.display())))?;
            self.read.insert(language.to_owned(), graph);
        }
        Ok(&self.read[language])
    }
}
