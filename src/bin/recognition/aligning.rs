//! Parts shared by the programs that align utterances with the graphs of their transcripts.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::{Site, num, ratio};
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_fst::Fst;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{FloatHolder, I32VectorHolder, VectorHolder};
use kaldi_io::{DenseMatrix, TableWriter};
use nnet3_decode::decoder::align::{TransitionCosts, careful_graph};
use nnet3_decode::decoder::{Decodable, MatrixDecodable, Pruning, SearchGraph, ViterbiDecoder, ViterbiPath};

use crate::recognition::decoding::usable;
use nnet3::lattices;

const UTTERANCE: Site = Site::new("AlignUtteranceWrapper", "decoder-wrappers.cc", 626);

// Options of alignment.
#[derive(Args, Clone, Debug)]
pub struct AlignOptions {
    /// Decoding beam used in alignment
    #[arg(long, default_value_t = 200.0)]
    pub beam: f32,
    /// Decoding beam for second try at alignment
    #[arg(long, default_value_t = 0.0)]
    pub retry_beam: f32,
    /// If true, do 'careful' alignment, which is better at detecting alignment failure (involves loop to start of
    /// decoding graph).
    #[arg(long, default_value_t = false)]
    pub careful: bool,
    /// Transition-probability scale [relative to acoustics]
    #[arg(long, default_value_t = 1.0)]
    pub transition_scale: f32,
    /// Scale of self-loop versus non-self-loop log probs [relative to acoustics]
    #[arg(long, default_value_t = 1.0)]
    pub self_loop_scale: f32,
}

impl AlignOptions {
    /// Fails for beams that make no sense.
    fn check(&self) -> Result<()> {
        let (beam, retry) = (self.beam, self.retry_beam);
        // (NaN fails the comparison.)
        let sensible = beam > 0.0 && (retry == 0.0 || retry > beam);
        if !sensible {
            bail!("Beams do not make sense: beam {beam}, retry-beam {retry}");
        }
        Ok(())
    }
}

/// Names of the tables that are written.
pub struct AlignedTables<'t> {
    pub alignments: &'t str,
    pub scores: Option<&'t String>,
    /// The log-likelihood of each frame.
    pub frames: Option<&'t String>,
}

/// The tables that are written, and counts.
pub struct Aligner<'a> {
    site: Site,
    options: &'a AlignOptions,
    costs: TransitionCosts,
    transition_ids: usize,
    pdfs: Arc<[i32]>,
    /// The factor by which log-likelihoods have been multiplied when the search sees them.
    acoustic_scale: f32,
    alignments: TableWriter<I32VectorHolder>,
    scores: Option<TableWriter<FloatHolder>>,
    /// The log-likelihood of each frame.
    frames_out: Option<TableWriter<VectorHolder>>,
    done: u64,
    failed: u64,
    retried: u64,
    frames: usize,
    log_likelihood: f64,
}

impl<'a> Aligner<'a> {
    pub fn open(
        site: Site,
        options: &'a AlignOptions,
        model: &TransitionModel,
        acoustic_scale: f32,
        tables: &AlignedTables<'_>,
    ) -> Result<Aligner<'a>> {
        if acoustic_scale == 0.0 || !acoustic_scale.is_finite() {
            bail!("--acoustic-scale={acoustic_scale}: expected a number other than 0");
        }
        Ok(Aligner {
            site,
            options,
            costs: TransitionCosts::new(model, options.transition_scale, options.self_loop_scale),
            transition_ids: model.num_transition_ids(),
            pdfs: model.pdfs().clone(),
            acoustic_scale,
            alignments: TableWriter::open(tables.alignments)?,
            scores: lattices::open_writer(tables.scores)?,
            frames_out: lattices::open_writer(tables.frames)?,
            done: 0,
            failed: 0,
            retried: 0,
            frames: 0,
            log_likelihood: 0.0,
        })
    }

    /// Counts an utterance that could not be aligned, with a warning.
    pub fn fail(&mut self, reason: &str) {
        kaldi_warn!(self.site, "{reason}");
        self.failed += 1;
    }

    /// Aligns an utterance with a graph, and writes the results. The log-likelihoods are multiplied by `scale` first.
    pub fn align(&mut self, key: &str, fst: Fst, loglikes: DenseMatrix<f32>, scale: f32) -> Result<()> {
        let loglikes = match usable(key, loglikes) {
            Ok(loglikes) => loglikes,
            Err(skip) => {
                self.fail(&skip.sentence(key));
                return Ok(());
            }
        };
        let pdfs = self.pdfs.clone();
        self.align_with(key, fst, &MatrixDecodable::new(&loglikes, &pdfs, scale)?)
    }

    /// Does the same as [`align`](Self::align) with log-likelihoods of any source.
    pub fn align_with(&mut self, key: &str, mut fst: Fst, decodable: &impl Decodable) -> Result<()> {
        self.options.check()?;
        if fst.start.is_none() {
            kaldi_warn!(UTTERANCE, "Empty decoding graph for {key}");
            self.failed += 1;
            return Ok(());
        }
        let num_frames = decodable.num_frames();
        let (path, retried) = match self.search(key, &mut fst, decodable) {
            Ok(found) => found,
            Err(error) => {
                self.fail(&format!("{key}: {error}"));
                return Ok(());
            }
        };
        self.retried += u64::from(retried);
        let Some(path) = path else {
            kaldi_warn!(UTTERANCE, "Did not successfully decode file {key}, len = {num_frames}");
            self.failed += 1;
            return Ok(());
        };
        let score = -(f64::from(path.weight.graph) + f64::from(path.weight.acoustic));
        lattices::write(&mut self.scores, key, &(score as f32))?;
        self.alignments.write(key, &path.ids)?;
        let frames = path.acoustic.iter().map(|cost| -cost / self.acoustic_scale).collect();
        lattices::write(&mut self.frames_out, key, &frames)?;
        self.done += 1;
        self.frames += num_frames;
        self.log_likelihood += score / f64::from(self.acoustic_scale);
        Ok(())
    }

    /// The best path, if one was found, and whether that took a second try.
    fn search(
        &self,
        key: &str,
        fst: &mut Fst,
        decodable: &impl Decodable,
    ) -> nnet3_decode::Result<(Option<ViterbiPath>, bool)> {
        let AlignOptions { beam, retry_beam, careful, .. } = *self.options;
        self.costs.add_to_graph(fst)?;
        if careful {
            *fst = careful_graph(fst);
        }
        let graph = SearchGraph::new((&*fst).into(), self.transition_ids)?;
        let mut decoder = ViterbiDecoder::new(&graph, Pruning { beam, ..Pruning::viterbi() })?;
        let path = decoder.decode(decodable)?;
        if path.is_some() || retry_beam == 0.0 {
            return Ok((path, false));
        }
        kaldi_warn!(UTTERANCE, "Retrying utterance {key} with beam {}", num(f64::from(retry_beam)));
        decoder.set_beam(retry_beam)?;
        Ok((decoder.decode(decodable)?, true))
    }

    /// Closes the tables and logs the counts. Returns status 0 if an utterance was aligned.
    pub fn finish(self) -> Result<u8> {
        self.alignments.close()?;
        lattices::close(self.scores)?;
        lattices::close(self.frames_out)?;
        let (site, done, failed) = (self.site, self.done, self.failed);
        let per_frame = ratio(self.log_likelihood, self.frames as f64);
        kaldi_log!(site, "Overall log-likelihood per frame is {per_frame} over {} frames.", self.frames);
        kaldi_log!(site, "Retried {} out of {} utterances.", self.retried, done + failed);
        kaldi_log!(site, "Done {done}, errors on {failed}");
        Ok(if done > 0 { 0 } else { NOTHING_DONE })
    }
}
