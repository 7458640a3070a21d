//! Alignments that spread frames equally: `align-equal` and `align-equal-compiled`. Graphs of transcripts for programs that
//! make them on the way.

use anyhow::Result;
use kaldi_cli::log::Site;
use kaldi_cli::{NOTHING_DONE, kaldi_warn};
use kaldi_fst::Fst;
use kaldi_graph::equal_align::{EqualAlignError, equal_align, seed};
use kaldi_graph::training::{TrainingGraphCompiler, TrainingGraphs};
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::{TableWriter, read_object};
use nnet3::{fsts, messages};
use nnet3_core::c_rand::CRand;

const EQUAL_ALIGN: Site = Site::new("EqualAlign", "fstext/fstext-utils-inl.h", 931);

/// The files that graphs of transcripts are made from, besides the model.
pub struct GraphFiles {
    tree: ContextDependency,
    lexicon: Fst,
    disambiguation: Vec<i32>,
}

impl GraphFiles {
    pub fn read(tree: &str, lexicon: &str, disambiguation: &str) -> Result<GraphFiles> {
        Ok(GraphFiles {
            tree: read_object(tree)?,
            lexicon: fsts::read(Some(lexicon))?,
            disambiguation: fsts::read_disambiguation(disambiguation)?,
        })
    }

    pub fn compiler<'a>(
        &'a self,
        model: &'a TransitionModel,
        options: TrainingGraphs,
    ) -> Result<TrainingGraphCompiler<'a>> {
        let GraphFiles { tree, lexicon, disambiguation } = self;
        Ok(TrainingGraphCompiler::new(tree, model, lexicon.clone(), disambiguation, options)?)
    }
}

/// The table of alignments, and counts.
pub struct EqualAligner {
    alignments: TableWriter<I32VectorHolder>,
    done: u64,
    lacking: u64,
    failed: u64,
}

impl EqualAligner {
    pub fn open(wspecifier: &str) -> Result<EqualAligner> {
        Ok(EqualAligner { alignments: TableWriter::open(wspecifier)?, done: 0, lacking: 0, failed: 0 })
    }

    /// Counts an utterance with a missing part, with a warning.
    pub fn lacks(&mut self, reason: &str) {
        messages::warn(reason);
        self.lacking += 1;
    }

    /// Counts an utterance that cannot be aligned, with a warning.
    pub fn fail(&mut self, reason: &str) {
        messages::warn(reason);
        self.failed += 1;
    }

    /// Aligns an utterance and writes its alignment.
    pub fn align(&mut self, key: &str, graph: &Fst, frames: usize) -> Result<()> {
        if frames == 0 {
            self.fail(&format!("Zero-length utterance: {key}"));
            return Ok(());
        }
        let Some(start) = graph.start else {
            self.fail(&format!("Empty decoding graph for {key}"));
            return Ok(());
        };
        let mut rand = CRand::new(seed(key));
        match equal_align(graph, start, frames, &mut || rand.next()) {
            Ok(alignment) => {
                self.alignments.write(key, &alignment)?;
                self.done += 1;
            }
            Err(error) => {
                if let EqualAlignError::TooFewFrames { lengths, .. } = &error {
                    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
                    kaldi_warn!(
                        EQUAL_ALIGN,
                        "EqualAlign: the randomly constructed paths lengths: {}",
                        lengths.join(",")
                    );
                }
                kaldi_warn!(EQUAL_ALIGN, "{error}");
                self.fail(&format!("AlignEqual: did not align utterence {key}"));
            }
        }
        Ok(())
    }

    /// Closes the table and logs the counts. `lacked` names the missing inputs. Returns status 0 if an utterance was
    /// aligned.
    pub fn finish(self, lacked: &str) -> Result<u8> {
        self.alignments.close()?;
        let EqualAligner { done, lacking, failed, .. } = self;
        if done > 0 && lacking == 0 && failed == 0 {
            messages::log(&format!("Success: done {done} utterances."));
        } else {
            messages::warn(&format!(
                "Computed {done} alignments; {lacking} lacked {lacked}, {failed} had other errors."
            ));
        }
        Ok(if done > 0 { 0 } else { NOTHING_DONE })
    }
}
