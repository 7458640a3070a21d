//! The first half of a graph (HMMs, context and lexicon), for which a grammar of phrases becomes the second one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use kaldi_fst::store::{Names, Symbols};
use nnet3_decode::decoder::GraphPair;

use crate::error::{Error, Result};
use crate::graph;

/// The first half of a graph, for which phrases become the second one.
#[derive(Clone, Copy)]
pub(crate) struct FirstHalf<'m> {
    pub pair: &'m GraphPair,
    /// The names of its words, if their numbers are not those of the model's words.
    pub names: Option<&'m Names>,
}

impl FirstHalf<'_> {
    /// Returns the input labels of words of the model, as far as the half has paths with them. `names` are those of the model.
    pub fn input_labels(&self, names: &Names, words: &BTreeSet<i32>) -> BTreeMap<i32, i32> {
        let Some(own_names) = self.names else { return self.pair.input_labels(words) };
        let numbers: HashMap<&str, i32> =
            words.iter().filter_map(|&number| Some((names.get(number)?, number))).collect();
        let own: BTreeMap<i32, i32> = own_names
            .iter()
            .filter_map(|(own, name)| numbers.get(name).map(|&number| (own, number)))
            .collect();
        let labels = self.pair.input_labels(&own.keys().copied().collect());
        labels.into_iter().filter_map(|(word, label)| Some((*own.get(&word)?, label))).collect()
    }
}

/// The first half of a graph beside a graph that has its language model within it. It is read when it is first needed.
#[derive(Debug)]
pub struct PhrasePart {
    files: PhraseFiles,
    num_transition_ids: usize,
    read: OnceLock<(GraphPair, Names)>,
}

/// Files of the first half of a graph, for phrases.
#[derive(Debug, Clone)]
pub struct PhraseFiles {
    /// `HCLr.fst`.
    pub hcl: String,
    /// `words.txt` of this half.
    pub words: String,
    /// `disambig_tid.int`: input labels that consume no frame.
    pub disambiguation: String,
}

impl PhrasePart {
    /// Reads nothing yet. The model has this number of transition-ids.
    pub fn new(files: PhraseFiles, num_transition_ids: usize) -> PhrasePart {
        PhrasePart { files, num_transition_ids, read: OnceLock::new() }
    }

    /// # Errors
    /// A file cannot be read, or does not fit the model.
    pub(crate) fn half(&self) -> Result<FirstHalf<'_>> {
        let (pair, names) = match self.read.get() {
            Some(read) => read,
            None => {
                let PhraseFiles { hcl, words, disambiguation } = &self.files;
                let pair = graph::read_half(hcl, disambiguation, self.num_transition_ids)?;
                let names = Names::try_from(&Symbols::load(words)?).map_err(Error::of(words))?;
                self.read.get_or_init(|| (pair, names))
            }
        };
        Ok(FirstHalf { pair, names: Some(names) })
    }
}
