//! Utterances as networks get them: their features, and the graphs that belong to them where each has its own.

use anyhow::Result;
use kaldi_fst::{Fst, FstHolder};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{DenseMatrix, RandomReader, SequentialReader};

use crate::progress;
use crate::tables::{Outcome, Skip};

pub struct Utterance {
    pub key: String,
    pub graph: Option<Fst>,
    /// A row for each frame, or the reason for which there are none.
    pub features: Outcome<DenseMatrix<f32>>,
}

/// A table of features, or one of graphs with the features of each, from beginning to end.
pub struct Utterances {
    source: Source,
    /// The first utterance. It is read at the first question whether there is one.
    first: Option<Utterance>,
    progress: progress::Counter,
}

enum Source {
    Features(SequentialReader<MatrixHolder>),
    Graphs {
        graphs: Box<SequentialReader<FstHolder>>,
        features: Box<RandomReader<MatrixHolder>>,
        missing: fn(&str) -> String,
    },
}

impl Utterances {
    pub fn of_features(rspecifier: &str) -> Result<Utterances> {
        Ok(Utterances {
            source: Source::Features(SequentialReader::open(rspecifier)?),
            first: None,
            progress: progress::counter("utterances", rspecifier),
        })
    }

    /// Reads each graph with its features. `missing` returns the message for a key without features.
    pub fn of_graphs(graphs: &str, features: &str, missing: fn(&str) -> String) -> Result<Utterances> {
        Ok(Utterances {
            source: Source::Graphs {
                graphs: Box::new(SequentialReader::open(graphs)?),
                features: Box::new(RandomReader::open(features)?),
                missing,
            },
            first: None,
            progress: progress::counter("utterances", graphs),
        })
    }

    pub fn is_empty(&mut self) -> Result<bool> {
        self.first = self.read()?;
        Ok(self.first.is_none())
    }

    /// The next one, if there is one.
    pub fn read(&mut self) -> Result<Option<Utterance>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let next = match &mut self.source {
            Source::Features(reader) => {
                reader.next()?.map(|(key, features)| Utterance { key, graph: None, features: Ok(features) })
            }
            Source::Graphs { graphs, features, missing } => match graphs.next()? {
                Some((key, graph)) => {
                    let features = features.get(&key)?.cloned().ok_or_else(|| Skip::Sentence(missing(&key)));
                    Some(Utterance { key, graph: Some(graph), features })
                }
                None => None,
            },
        };
        if next.is_some() {
            self.progress.inc();
        }
        Ok(next)
    }

    /// Closes the tables. It is an error if the end was a damaged table's.
    pub fn close(self) -> Result<()> {
        match self.source {
            Source::Features(reader) => reader.close()?,
            Source::Graphs { graphs, .. } => graphs.close()?,
        }
        Ok(())
    }
}
