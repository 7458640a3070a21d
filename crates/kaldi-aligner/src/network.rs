//! Alignment by a model whose log-likelihoods do not come from Gaussians. The network itself is the caller's.

use std::num::NonZero;

use kaldi_align::network::Hmms;
use kaldi_align::parallel::in_order;
use kaldi_align::passes::{AlignSettings, PathFinder};
use kaldi_align::phone_graph::LexiconGraph;
use kaldi_align::{AlignOptions, Alignment, interrupt};
use kaldi_corpus::Corpus;
use kaldi_fst::store::Symbols;
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::DenseMatrix;
use kaldi_lang::Lang;

use crate::aligned::{AlignedUtterance, Results, in_seconds, sentence};
use crate::cepstra::{numbers, part, samples};
use crate::listen::{LoopSearch, PhoneLoop, TextScores, others_settings, text_score};
use crate::model::lang_of;
use crate::others::{Beside, Texts};
use crate::pronunciations::Pronunciations;
use crate::scores;
use crate::settings::{FrameTimes, SilenceSettings};
use crate::{Error, Result};

/// Computes log-likelihoods of sound.
pub trait Scorer {
    /// Log-likelihoods of the pdfs (columns) for the frames (rows) of an utterance, with its samples at the model's rate.
    ///
    /// # Errors
    /// A sentence about the fault.
    fn score(&mut self, samples: &[f32]) -> std::result::Result<DenseMatrix<f32>, String>;
}

/// Makes scorers, one for each thread.
pub trait Scoring: Send + Sync {
    /// Makes a scorer.
    ///
    /// # Errors
    /// A sentence about the fault.
    fn scorer(&self) -> std::result::Result<Box<dyn Scorer + '_>, String>;
}

/// A model whose log-likelihoods come from a [`Scoring`].
pub struct NetworkModel {
    /// HMMs and their pdfs.
    pub transitions: TransitionModel,
    /// The pdfs of phones in context.
    pub tree: ContextDependency,
    /// Names and numbers of phones.
    pub phones: Symbols,
    /// The names of silence, and of the phone for unknown words.
    pub silence: SilenceSettings,
    /// Samples per second, to which recordings are brought.
    pub rate: u32,
    /// Times of frames.
    pub times: FrameTimes,
    /// Settings of the search.
    pub options: AlignOptions,
    /// The source of log-likelihoods.
    pub scoring: Box<dyn Scoring>,
}

/// Takes all utterances.
fn every(_: usize) -> bool {
    true
}

/// The alignment of an utterance, with its frames' scores if they are wanted.
type Found = (AlignedUtterance, Option<(Alignment, Vec<f64>)>);

impl NetworkModel {
    /// The HMMs.
    pub fn hmms(&self) -> Hmms<'_> {
        Hmms { transitions: &self.transitions, tree: &self.tree }
    }

    /// The language of a lexicon in the phones of this model.
    ///
    /// # Errors
    /// The lexicon has phones that the model lacks.
    pub fn lang(&self, pronunciations: &Pronunciations) -> Result<Lang> {
        lang_of(&self.phones, &self.silence, pronunciations)
    }

    /// Log-likelihoods of an utterance of a corpus.
    pub(crate) fn outputs(
        &self,
        corpus: &Corpus,
        number: usize,
    ) -> std::result::Result<DenseMatrix<f32>, String> {
        let utterance = &corpus.utterances[number];
        let sound = samples(&corpus.recordings[utterance.recording], self.rate)
            .map_err(|error| kaldi_io::error::chain(&error))?;
        self.checked(self.scoring.scorer()?.score(part(&sound, utterance.span, self.rate))?)
    }

    fn checked(&self, outputs: DenseMatrix<f32>) -> std::result::Result<DenseMatrix<f32>, String> {
        let pdfs = self.tree.num_pdfs();
        match (outputs.rows, outputs.cols) {
            (0, _) => Err("it is shorter than a frame".to_owned()),
            (_, cols) if cols < pdfs => {
                Err(format!("the network has {cols} outputs, and the model's HMMs {pdfs} pdfs"))
            }
            _ => Ok(outputs),
        }
    }

    /// Does `work` with the log-likelihoods of each of these utterances, recording by recording. Results are in the order of all
    /// utterances; others have the reason that they were not read.
    fn for_utterances<T: Send>(
        &self,
        (corpus, wanted): (&Corpus, &dyn Fn(usize) -> bool),
        threads: NonZero<usize>,
        (lexicon, settings): (&LexiconGraph, &AlignSettings),
        work: impl Fn(&mut PathFinder, usize, &DenseMatrix<f32>) -> std::result::Result<T, String> + Sync,
        mut progress: impl FnMut(f64),
    ) -> Result<Vec<std::result::Result<T, String>>> {
        let mut of_recording: Vec<Vec<usize>> = vec![Vec::new(); corpus.recordings.len()];
        for (number, utterance) in corpus.utterances.iter().enumerate().filter(|(number, _)| wanted(*number))
        {
            of_recording[utterance.recording].push(number);
        }
        let of_one = |recording: usize| -> std::result::Result<Vec<std::result::Result<T, String>>, String> {
            if of_recording[recording].is_empty() {
                return Ok(Vec::new());
            }
            let sound = samples(&corpus.recordings[recording], self.rate)
                .map_err(|error| kaldi_io::error::chain(&error))?;
            let mut scorer = self.scoring.scorer()?;
            let mut finder = PathFinder::new(self.hmms(), lexicon, settings);
            let one = |&number: &usize| {
                interrupt::check().map_err(|interrupted| interrupted.to_string())?;
                let outputs = scorer.score(part(&sound, corpus.utterances[number].span, self.rate))?;
                work(&mut finder, number, &self.checked(outputs)?)
            };
            Ok(of_recording[recording].iter().map(one).collect())
        };
        let mut results: Vec<Option<std::result::Result<T, String>>> =
            corpus.utterances.iter().map(|_| None).collect();
        let (mut done, all) = (0, of_recording.len().max(1));
        in_order(
            threads,
            of_recording.len(),
            |recording| (recording, of_one(recording)),
            |(recording, found)| {
                let members = &of_recording[recording];
                match found {
                    Ok(found) => {
                        found
                            .into_iter()
                            .zip(members)
                            .for_each(|(result, &number)| results[number] = Some(result));
                    }
                    Err(message) => {
                        members.iter().for_each(|&number| results[number] = Some(Err(message.clone())));
                    }
                }
                done += 1;
                progress(done as f64 / all as f64);
                Ok::<(), Error>(())
            },
        )?;
        let missing = || Err("it was not read".to_owned());
        Ok(results.into_iter().map(|result| result.unwrap_or_else(missing)).collect())
    }

    /// Aligns an utterance.
    fn one(
        &self,
        finder: &mut PathFinder,
        (corpus, number): (&Corpus, usize),
        outputs: &DenseMatrix<f32>,
        lang: &Lang,
    ) -> std::result::Result<Alignment, String> {
        let words = numbers(&corpus.utterances[number].text, lang);
        let get = |frame: usize, pdf: i32| outputs.row(frame)[pdf as usize];
        let found = finder.find(&words, outputs.rows, get);
        let found = found.map_err(|reason| sentence(&reason, corpus, number, lang))?;
        Ok(Alignment::of(found, &words, get, self.options.boundaries.as_ref()))
    }

    /// Aligns the utterances of a corpus. With `with_scores`, words and phones have scores.
    ///
    /// # Errors
    /// The language does not fit the model.
    pub fn align(
        &self,
        lang: &Lang,
        pronunciations: &Pronunciations,
        corpus: &Corpus,
        with_scores: bool,
        threads: NonZero<usize>,
        progress: impl FnMut(f64),
    ) -> Result<Results> {
        let lexicon = LexiconGraph::new(lang)?;
        let pdfs = self.tree.num_pdfs();
        let work = |finder: &mut PathFinder, number: usize, outputs: &DenseMatrix<f32>| {
            let alignment = self.one(finder, (corpus, number), outputs, lang)?;
            let aligned = in_seconds(corpus, number, &alignment, lang, pronunciations, self.times);
            if !with_scores {
                return Ok((aligned, None));
            }
            let get = |frame: usize, pdf: usize| outputs.row(frame)[pdf];
            let scores = scores::of_frames(&self.transitions, &alignment.ids, pdfs, get);
            Ok((aligned, Some((alignment, scores.map_err(|error| error.to_string())?))))
        };
        let (all, settings) = ((corpus, &every as &dyn Fn(usize) -> bool), self.options.settings());
        let found = self.for_utterances(all, threads, (&lexicon, &settings), work, progress)?;
        let finish = |(mut aligned, scores): Found| {
            if let Some((alignment, scores)) = scores {
                scores::add_to(&mut aligned, &alignment, &scores);
            }
            aligned
        };
        let utterances = found.into_iter().map(|result| result.map(finish)).collect();
        let mut results = Results { utterances, doubtful: None, left_out: Vec::new(), untexted: Vec::new() };
        if with_scores {
            scores::mark_doubtful(&mut results);
            scores::mark_long(&mut results);
        }
        Ok(results)
    }

    /// Scores the texts of a corpus: the scores, and the reasons why utterances are not aligned.
    ///
    /// # Errors
    /// The language does not fit the model.
    pub fn listen(
        &self,
        lang: &Lang,
        corpus: &Corpus,
        threads: NonZero<usize>,
        mut progress: impl FnMut(f64),
    ) -> Result<(TextScores, Vec<Option<String>>)> {
        let texts: Vec<Vec<u32>> =
            corpus.utterances.iter().map(|utterance| numbers(&utterance.text, lang)).collect();
        let phones =
            PhoneLoop::of_texts(self.hmms(), &self.options, lang, texts.iter().map(|words| &words[..]))?;
        let lexicon = LexiconGraph::new(lang)?;
        let work = |finder: &mut PathFinder, number: usize, outputs: &DenseMatrix<f32>| {
            let alignment = self.one(finder, (corpus, number), outputs, lang)?;
            let get = |frame: usize, pdf: i32| outputs.row(frame)[pdf as usize];
            let mut search = LoopSearch::default();
            let score = text_score(&phones, &mut search, &self.transitions, &alignment, get, &self.options)
                .map_err(|error| error.to_string())?;
            Ok((score, alignment))
        };
        let (all, settings) = ((corpus, &every as &dyn Fn(usize) -> bool), self.options.settings());
        let show = |share: f64| progress(0.8 * share);
        let found = self.for_utterances(all, threads, (&lexicon, &settings), work, show)?;
        let score = |result: &std::result::Result<(Option<f64>, Alignment), String>| result.as_ref().ok()?.0;
        let mut scores = TextScores::new(found.iter().map(score).collect());
        let alignments = found.iter().map(|result| result.as_ref().ok().map(|(_, alignment)| alignment));
        scores.find_long_sounds(alignments, self.times.seconds);
        let others = Texts::new(lang, texts.iter().map(Vec::as_slice));
        let is_doubtful = |number: usize| scores.is_doubtful(number);
        let work = |finder: &mut PathFinder, number: usize, outputs: &DenseMatrix<f32>| {
            let Ok((_, alignment)) = &found[number] else { return Ok(Beside::Best) };
            let get = |frame: usize, pdf: i32| outputs.row(frame)[pdf as usize];
            Ok(others.compare(finder, lang, (number, &texts[number], alignment), get))
        };
        let (doubtful, settings) =
            ((corpus, &is_doubtful as &dyn Fn(usize) -> bool), others_settings(&self.options));
        let show = |share: f64| progress(0.8 + 0.2 * share);
        let beside = self.for_utterances(doubtful, threads, (&lexicon, &settings), work, show)?;
        scores.beside = beside.into_iter().map(|result| result.unwrap_or(Beside::Best)).collect();
        let reasons = found.into_iter().map(std::result::Result::err).collect();
        Ok((scores, reasons))
    }
}
