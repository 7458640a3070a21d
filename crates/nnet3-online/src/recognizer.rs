//! One utterance after another (`SingleUtteranceNnet3Decoder` of `online2/online-nnet3-decoding.cc`, and the loop
//! around it).

use std::sync::Arc;

use kaldi_hmm::transitions::{TransitionId, TransitionModel};
use kaldi_online::endpoint::{EndpointOptions, SearchState};
use kaldi_online::silence::{SilenceWeighting, SilenceWeightingOptions, TracedFrame};
use kaldi_online::{PipelineModel, Speaker};
use nnet3_core::forward::LoopedForward;
use nnet3_decode::CompactLattice;
use nnet3_decode::decoder::{
    Decodable, Graph, IncrementalLattice, LatticeDecoder, MatrixDecodable, decodable,
};
use nnet3_decode::determinize::Report;

use crate::acoustics::{Acoustics, Chunk};
use crate::error::{Error, Result};

/// The parts that recognizers on several threads can share, apart from graphs.
#[derive(Debug, Clone)]
pub struct RecognizerModel {
    pub transitions: Arc<TransitionModel>,
    pub features: Arc<PipelineModel>,
    pub silence_weighting: SilenceWeightingOptions,
    /// Input frames to an output frame of the network.
    pub frame_subsampling_factor: usize,
}

/// Takes samples, and searches as far as they go.
pub struct Recognizer<G> {
    model: RecognizerModel,
    /// The pdf of each transition-id.
    pdfs: Vec<u32>,
    acoustics: Acoustics,
    search: LatticeDecoder<G>,
    /// The lattice, if it is determinized while the search goes on.
    chunks: Option<IncrementalLattice>,
    silence: SilenceWeighting,
    /// Output frames of the segments before this one.
    offset: usize,
    finished: bool,
}

impl<G: Graph> Recognizer<G> {
    /// Makes a recogniser that is ready for an utterance of a new speaker. It is an error if features, network and
    /// search do not fit.
    pub fn new(
        model: RecognizerModel,
        network: LoopedForward,
        search: LatticeDecoder<G>,
    ) -> Result<Recognizer<G>> {
        let mut out = Recognizer {
            pdfs: decodable::pdf_table(&model.transitions),
            acoustics: Acoustics::new(model.features.clone(), network)?,
            silence: SilenceWeighting::new(model.silence_weighting.clone(), model.frame_subsampling_factor),
            search,
            chunks: None,
            offset: 0,
            finished: false,
            model,
        };
        out.begin(Speaker::default())?;
        Ok(out)
    }

    /// Determinizes lattices in chunks while the search goes on. To be called before the first samples.
    pub fn determinize_in_chunks(&mut self, chunks: IncrementalLattice) {
        self.chunks = Some(chunks);
    }

    /// Forgets the utterance, and begins one of a speaker of whom this is known.
    pub fn begin(&mut self, speaker: Speaker) -> Result<()> {
        let RecognizerModel { silence_weighting, frame_subsampling_factor, .. } = &self.model;
        self.acoustics.begin(speaker)?;
        self.silence = SilenceWeighting::new(silence_weighting.clone(), *frame_subsampling_factor);
        self.offset = 0;
        self.begin_search()
    }

    fn begin_search(&mut self) -> Result<()> {
        self.finished = false;
        if let Some(chunks) = &mut self.chunks {
            chunks.clear();
        }
        self.search.begin()?;
        Ok(())
    }

    /// Begins a new search where the last one has ended: features and network go on.
    pub fn begin_segment(&mut self) -> Result<()> {
        self.offset += self.search.frames_decoded();
        self.begin_search()
    }

    /// Output frames of the segments before this one.
    pub fn segment_offset(&self) -> usize {
        self.offset
    }

    /// Takes the next samples, at this rate (in Hz), with the values of wave files. Searches the frames that become
    /// ready.
    pub fn accept(&mut self, rate: f32, samples: &[f32]) -> Result<()> {
        self.take(rate, samples, false)
    }

    /// Takes the last samples, which may be none, and searches to the end.
    pub fn accept_last(&mut self, rate: f32, samples: &[f32]) -> Result<()> {
        self.take(rate, samples, true)
    }

    fn take(&mut self, rate: f32, samples: &[f32], last: bool) -> Result<()> {
        if self.finished {
            return Err(Error::Data("samples after the end of an utterance".to_owned()));
        }
        self.acoustics.accept(rate, samples, last)?;
        let pipeline = self.acoustics.pipeline();
        if self.silence.is_active() && pipeline.has_ivectors() {
            let transitions = &self.model.transitions;
            let path = self.search.best_path().map_while(|step| {
                let transition_id = transitions.transition_id(step.transition_id).ok()?;
                Some(TracedFrame { token: step.token, transition_id })
            });
            self.silence.trace(self.offset + self.search.frames_decoded(), path);
            let changes = self.silence.changes(transitions, pipeline.ready());
            pipeline.change_weights(changes)?;
        }
        self.search()
    }

    /// Searches as far as there are frames for the network.
    fn search(&mut self) -> Result<()> {
        let ready = self.acoustics.ready();
        while self.offset + self.search.frames_decoded() < ready {
            let Chunk { outputs, first } =
                self.acoustics.chunk(self.offset + self.search.frames_decoded())?;
            let likelihoods = MatrixDecodable::new(outputs, &self.pdfs, 1.0)?;
            let end = ready.min(first + outputs.rows);
            while self.offset + self.search.frames_decoded() < end {
                let frame = self.offset + self.search.frames_decoded();
                self.search.advance(likelihoods.frame(frame - first))?;
            }
        }
        if let Some(chunks) = &mut self.chunks {
            chunks.update(&mut self.search, &self.model.transitions)?;
        }
        Ok(())
    }

    /// Output frames of the segment so far.
    pub fn frames_decoded(&self) -> usize {
        self.search.frames_decoded()
    }

    /// Returns the progress of the search. Must be called before the utterance is finished.
    pub fn state(&self, endpoint: &EndpointOptions) -> Result<SearchState> {
        let ids = self.search.best_path();
        let ids = ids.map_while(|step| self.model.transitions.transition_id(step.transition_id).ok());
        Ok(SearchState {
            decoded: self.frames_decoded(),
            trailing_silence: endpoint.trailing_silence(&self.model.transitions, ids),
            relative_cost: self.search.final_relative_cost()?,
        })
    }

    /// Returns the rule (from 0) that detects an endpoint, if any. It must be called before the utterance is finished.
    pub fn endpoint(&self, endpoint: &EndpointOptions) -> Result<Option<usize>> {
        Ok(endpoint.endpoint(&self.state(endpoint)?, self.output_frame_length()))
    }

    /// In seconds.
    pub fn output_frame_length(&self) -> f32 {
        self.model.features.frame_shift() * self.model.frame_subsampling_factor as f32
    }

    /// Returns the transition-ids of the best path so far, whether its last state is final or not. It must be called
    /// before the utterance is finished.
    pub fn best_path(&self) -> Vec<TransitionId> {
        let ids =
            self.search.best_path().map(|step| self.model.transitions.transition_id(step.transition_id));
        let mut ids: Vec<TransitionId> = ids.map_while(|id| id.ok()).collect();
        ids.reverse();
        ids
    }

    /// Ends the utterance, whether all samples came or not: the search knows its lattice now. False if no path is left.
    pub fn finish(&mut self) -> Result<bool> {
        self.finished = true;
        Ok(self.search.finish()?)
    }

    /// The search, for the lattice of an utterance that is finished.
    pub fn decoder(&self) -> &LatticeDecoder<G> {
        &self.search
    }

    /// Returns the lattice of an utterance that is finished, and events of its determinization. `None` if it is not
    /// determinized in chunks.
    pub fn determinized(&mut self) -> Result<Option<(CompactLattice, Report)>> {
        let Some(chunks) = &mut self.chunks else { return Ok(None) };
        let lattice = chunks.finish(&self.search, &self.model.transitions)?;
        Ok(Some((lattice, chunks.report().clone())))
    }

    /// Returns the speaker's present state, for the next utterance.
    pub fn speaker(&mut self) -> Result<Speaker> {
        Ok(self.acoustics.pipeline().speaker()?)
    }
}
