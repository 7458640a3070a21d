//! Samples to lattices (`SingleUtteranceNnet3Decoder` of `online2/online-nnet3-decoding.cc`, and the loop around it).

use kaldi_hmm::transitions::TransitionId;
use kaldi_online::Speaker;
use kaldi_online::endpoint::{EndpointOptions, SearchState};
use kaldi_online::silence::{SilenceWeighting, TracedFrame};
use nnet3_decode::decoder::{IncrementalLattice, MatrixDecodable, SearchOptions};
use nnet3_decode::determinize::{Report, determinize_phones};
use nnet3_decode::{CompactLattice, Lattice};

use crate::acoustics::{Acoustics, Chunk};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::options::RecognizerOptions;
use crate::phrases::Phrases;
use crate::search::Search;

/// The state of recognition after some samples.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The sentence goes on.
    Listening,
    /// The sentence has ended, by this rule (from 0) of the options.
    Endpoint { rule: usize },
}

/// Takes samples, and searches as far as they go. One utterance after another.
pub struct Stream {
    model: Model,
    options: RecognizerOptions,
    acoustics: Acoustics,
    search: Box<dyn Search>,
    /// The lattice, if it is determinized while the search goes on.
    chunks: Option<IncrementalLattice>,
    silence: SilenceWeighting,
    /// Output frames of the segments before this one.
    offset: usize,
    finished: bool,
}

impl Stream {
    /// Makes a stream that is ready for an utterance of a new speaker.
    ///
    /// # Errors
    /// Options that make no sense, an empty graph.
    pub fn new(model: &Model, options: &RecognizerOptions) -> Result<Stream> {
        let parts = model.parts();
        let chunks = options
            .chunks
            .map(|chunks| IncrementalLattice::new(chunks, &options.search, options.determinization))
            .transpose()?;
        let search = search(model, options)?;
        Ok(Stream {
            acoustics: Acoustics::new(parts.features.clone(), parts.speaker.clone(), model.network())?,
            silence: silence(model),
            search,
            chunks,
            offset: 0,
            finished: false,
            options: options.clone(),
            model: model.clone(),
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The options.
    pub fn options(&self) -> &RecognizerOptions {
        &self.options
    }

    pub(crate) fn set_endpoint(&mut self, rules: Option<EndpointOptions>) {
        self.options.endpoint = rules;
    }

    /// Replaces the phrases of which sentences consist, or returns to the model's language model. Forgets the utterance:
    /// another one must be begun.
    ///
    /// # Errors
    /// The search over the graph with these phrases cannot begin.
    pub fn set_phrases(&mut self, phrases: Option<Phrases>) -> Result<()> {
        let options = RecognizerOptions { phrases, ..self.options.clone() };
        self.search = search(&self.model, &options)?;
        self.options = options;
        self.finished = true;
        Ok(())
    }

    pub(crate) fn set_alternatives(&mut self, most: usize) {
        self.options.alternatives = most;
    }

    /// Forgets the utterance, and begins one of a speaker with this state.
    ///
    /// # Errors
    /// The search over the graph cannot begin.
    pub fn begin(&mut self, speaker: Speaker) -> Result<()> {
        self.acoustics.begin(speaker)?;
        self.silence = silence(&self.model);
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
    ///
    /// # Errors
    /// The search over the graph cannot begin.
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
    ///
    /// # Errors
    /// Samples at a rate that does not fit the features, outputs of the network that are not numbers.
    pub fn accept(&mut self, rate: f32, samples: &[f32]) -> Result<State> {
        self.take(rate, samples, false)
    }

    /// Takes the last samples, which may be none, and searches to the end.
    ///
    /// # Errors
    /// Samples at a rate that does not fit the features, outputs of the network that are not numbers.
    pub fn accept_last(&mut self, rate: f32, samples: &[f32]) -> Result<State> {
        self.take(rate, samples, true)
    }

    fn take(&mut self, rate: f32, samples: &[f32], last: bool) -> Result<State> {
        if self.finished {
            return Err(Error::Data("samples after the end of an utterance".to_owned()));
        }
        self.acoustics.accept(rate, samples, last)?;
        let pipeline = self.acoustics.pipeline();
        if self.silence.is_active() && pipeline.has_ivectors() {
            let transitions = self.model.transitions();
            let path = self.search.best_path().map_while(|step| {
                let transition_id = transitions.transition_id(step.transition_id).ok()?;
                Some(TracedFrame { token: step.token, transition_id })
            });
            self.silence.trace(self.offset + self.search.frames_decoded(), path);
            let changes = self.silence.changes(transitions, pipeline.ready());
            pipeline.change_weights(changes)?;
        }
        self.search()?;
        let rule = self.options.endpoint.as_ref().map(|rules| self.endpoint(rules)).transpose()?.flatten();
        Ok(rule.map_or(State::Listening, |rule| State::Endpoint { rule }))
    }

    /// Searches as far as there are frames for the network.
    fn search(&mut self) -> Result<()> {
        let ready = self.acoustics.ready();
        while self.offset + self.search.frames_decoded() < ready {
            let Chunk { outputs, first } =
                self.acoustics.chunk(self.offset + self.search.frames_decoded())?;
            let likelihoods = MatrixDecodable::new(outputs, self.model.pdfs(), 1.0)?;
            let begin = self.offset + self.search.frames_decoded() - first;
            self.search.advance(&likelihoods, begin..outputs.rows.min(ready - first))?;
        }
        if let Some(chunks) = &mut self.chunks {
            self.search.update(chunks, self.model.transitions())?;
        }
        Ok(())
    }

    /// Output frames of the segment so far.
    pub fn frames_decoded(&self) -> usize {
        self.search.frames_decoded()
    }

    /// Returns the progress of the search. Must be called before the utterance is finished.
    ///
    /// # Errors
    /// The graph is damaged.
    pub fn progress(&self, endpoint: &EndpointOptions) -> Result<SearchState> {
        let ids = self.search.best_path();
        let ids = ids.map_while(|step| self.model.transitions().transition_id(step.transition_id).ok());
        Ok(SearchState {
            decoded: self.frames_decoded(),
            trailing_silence: endpoint.trailing_silence(self.model.transitions(), ids),
            relative_cost: self.search.final_relative_cost()?,
        })
    }

    /// Returns the rule (from 0) that detects an endpoint, if any. It must be called before the utterance is finished.
    ///
    /// # Errors
    /// The graph is damaged.
    pub fn endpoint(&self, endpoint: &EndpointOptions) -> Result<Option<usize>> {
        Ok(endpoint.endpoint(&self.progress(endpoint)?, self.output_frame_length()))
    }

    /// In seconds.
    pub fn output_frame_length(&self) -> f32 {
        self.model.output_frame_length()
    }

    /// Returns the transition-ids of the best path so far, whether its last state is final or not. It must be called
    /// before the utterance is finished.
    pub fn best_path(&self) -> Vec<TransitionId> {
        let ids =
            self.search.best_path().map(|step| self.model.transitions().transition_id(step.transition_id));
        let mut ids: Vec<TransitionId> = ids.map_while(|id| id.ok()).collect();
        ids.reverse();
        ids
    }

    /// Returns the words of the best path so far, whether its last state is final or not. It must be called before the
    /// utterance is finished.
    pub fn best_words(&mut self) -> Vec<i32> {
        self.search.best_words()
    }

    /// Ends the utterance, whether all samples came or not: the search knows its lattice now. False if no path is left.
    ///
    /// # Errors
    /// The graph is damaged.
    pub fn finish(&mut self) -> Result<bool> {
        self.finished = true;
        Ok(self.search.finish()?)
    }

    /// True if a path of the finished utterance ends in a final state.
    pub fn reached_final(&self) -> bool {
        self.search.reached_final()
    }

    /// Returns all paths that were kept, so far or of the finished utterance, with a state for each token.
    ///
    /// # Errors
    /// The graph is damaged.
    pub fn raw_lattice(&self) -> Result<Lattice> {
        Ok(self.search.raw_lattice()?)
    }

    /// Returns the lattice of the finished utterance, and events of its determinization. The lattice has one path
    /// for each sequence of words, and acoustic costs as scaled for the search. The lattice is empty if no path is
    /// left.
    ///
    /// # Errors
    /// The lattice cannot be determinized, or the graph is damaged.
    pub fn lattice(&mut self) -> Result<(CompactLattice, Report)> {
        if let Some(chunks) = &mut self.chunks {
            let lattice = self.search.finish_chunks(chunks, self.model.transitions())?;
            return Ok((lattice, chunks.report().clone()));
        }
        self.determinized()
    }

    /// Determinizes all paths that were kept, so far or of the finished utterance.
    pub(crate) fn determinized(&self) -> Result<(CompactLattice, Report)> {
        let RecognizerOptions { search, determinization, effort, .. } = &self.options;
        let (beam, mut raw) = (search.lattice_beam, self.search.raw_lattice()?);
        if let Some(effort) = effort {
            effort.bound_frames(&mut raw, beam)?;
        }
        Ok(determinize_phones(self.model.transitions(), &mut raw, beam.into(), determinization)?)
    }

    /// Returns the speaker's present state, for the next utterance.
    ///
    /// # Errors
    /// The features of the last frames cannot be made.
    pub fn speaker(&mut self) -> Result<Speaker> {
        Ok(self.acoustics.pipeline().speaker()?)
    }
}

/// Makes a search over the graph of the phrases, or else of the model, and begins it.
fn search(model: &Model, options: &RecognizerOptions) -> Result<Box<dyn Search>> {
    let mut limits = options.search;
    if options.chunks.is_some() {
        limits = SearchOptions { prune_scale: IncrementalLattice::PRUNE_SCALE, ..limits };
    }
    let graph = options.phrases.as_ref().map_or(&model.parts().graph, Phrases::graph);
    let mut search = graph.search(limits)?;
    search.begin()?;
    Ok(search)
}

/// The weights of silence of a new utterance.
fn silence(model: &Model) -> SilenceWeighting {
    let parts = model.parts();
    SilenceWeighting::new(parts.silence_weighting.clone(), parts.network.frame_subsampling_factor())
}
