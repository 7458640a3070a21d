//! Training from a flat start: monophones, triphones, LDA+MLLT, SAT, in the order of events of Kaldi's scripts.

use std::num::NonZero;
use std::ops::Range;

use kaldi_gmm::AmDiagGmm;
use kaldi_gmm::global::GlobalMean;
use kaldi_hmm::TransitionModel;
use kaldi_lang::Lang;
use kaldi_tree::stub::monophone;

use crate::error::{Error, Reason, Result};
use crate::estimate::{self, FmllrSettings, Update};
use crate::features::{FeatureKind, Front};
use crate::network::{Model, TransitionScales};
use crate::observer::{Event, Observer};
use crate::passes::{AlignSettings, Alignments, Outcome, Passes};
use crate::phone_graph::LexiconGraph;
use crate::recipe::{Beams, Recipe, Stage, StageKind};
use crate::start;
use crate::system::{AlignOptions, System};
use crate::tree;
use crate::utterance::{Corpus, Utterance};

/// A trained system, and the reasons why utterances were not trained on in the end.
#[derive(Debug)]
pub struct Trained {
    pub system: System,
    /// One for each utterance; `None` for those that were trained on.
    pub reasons: Vec<Option<Reason>>,
}

/// Trains a system on utterances.
///
/// # Errors
/// No utterance can be aligned, or the language lacks what training needs.
pub fn train(
    lang: &Lang,
    utterances: &[Utterance],
    recipe: &Recipe,
    threads: NonZero<usize>,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    let Some(dim) = utterances.iter().map(|utterance| utterance.features.cols).find(|&cols| cols > 0) else {
        return Err(Error::data("there are no features to train on"));
    };
    if recipe.stages.first().is_none_or(|stage| stage.kind != StageKind::Monophones) {
        return Err(Error::data("a training must begin with monophones"));
    }
    let corpus = Corpus::new(utterances, dim);
    let lexicon = LexiconGraph::new(lang)?;
    let passes = Passes { corpus: &corpus, threads };
    let mut trainer = Trainer::new(lang, &lexicon, passes, recipe, observer)?;
    for (number, stage) in recipe.stages.iter().enumerate() {
        trainer.stage(stage, number)?;
    }
    Ok(trainer.finish())
}

/// The model of monophones whose Gaussians are all that of all frames.
fn first_model(lang: &Lang, front: &Front) -> Result<Model> {
    let Some(topology) = &lang.topology else { return Err(Error::data("the language has no topology")) };
    let mut mean: Option<GlobalMean> = None;
    for piece in &front.corpus.pieces {
        for &place in &piece.members {
            let features = front.features(place)?;
            let mean = mean.get_or_insert_with(|| GlobalMean::new(features.cols));
            let mut frame = vec![0.0; features.cols];
            for t in 0..features.rows {
                frame.iter_mut().zip(features.row(t)).for_each(|(to, &x)| *to = f64::from(x));
                mean.add(&frame)?;
            }
        }
    }
    let Some(mean) = mean else { return Err(Error::data("no utterance has features that can be used")) };
    let tree = monophone(&lang.sets, topology, &mut |_| ())?;
    let transitions = TransitionModel::new(&tree, topology.clone())?;
    let gmms = AmDiagGmm::flat(&mean.gaussian()?, tree.num_pdfs())?;
    Ok(Model { transitions, tree, gmms })
}

/// The part of the work that is done.
struct Work {
    done: f64,
    all: f64,
}

/// The work of an alignment, in iterations.
pub(crate) const ALIGNMENT: f64 = 3.0;

impl Work {
    fn of(recipe: &Recipe) -> Work {
        let of_stage = |stage: &Stage| {
            stage.iterations as f64
                + ALIGNMENT * (stage.realign.len() + 2) as f64
                + stage.transform.len() as f64
        };
        Work { done: 0.0, all: recipe.stages.iter().map(of_stage).sum::<f64>().max(1.0) }
    }
}

pub(crate) struct Trainer<'a> {
    pub lang: &'a Lang,
    pub lexicon: &'a LexiconGraph,
    pub passes: Passes<'a>,
    pub recipe: &'a Recipe,
    pub observer: &'a mut dyn Observer,
    front: Front<'a>,
    pub model: Model,
    /// The mixtures of the last stage for features without transforms of speakers.
    independent: Option<AmDiagGmm>,
    full_lda: Option<kaldi_io::DenseMatrix<f32>>,
    alignments: Alignments,
    reasons: Vec<Option<Reason>>,
    work: Work,
    /// The present number of Gaussians to reach.
    pub gaussians: usize,
}

impl<'a> Trainer<'a> {
    /// Begins with the model whose Gaussians are all that of all frames.
    pub fn new(
        lang: &'a Lang,
        lexicon: &'a LexiconGraph,
        passes: Passes<'a>,
        recipe: &'a Recipe,
        observer: &'a mut dyn Observer,
    ) -> Result<Trainer<'a>> {
        let corpus = passes.corpus;
        let front = Front::new(corpus, FeatureKind::default(), recipe.normalized)?.keeping();
        let model = first_model(lang, &front)?;
        Ok(Trainer {
            lang,
            lexicon,
            passes,
            recipe,
            observer,
            front,
            model,
            independent: None,
            full_lda: None,
            alignments: vec![None; corpus.utterances.len()],
            reasons: corpus.problems.clone(),
            work: Work::of(recipe),
            gaussians: 0,
        })
    }

    pub fn did(&mut self, work: f64) {
        self.work.done += work;
        self.observer.event(Event::Progress((self.work.done / self.work.all).min(1.0)));
    }

    fn stage(&mut self, stage: &Stage, number: usize) -> Result<()> {
        let aligned = self.alignments.iter().filter(|ids| ids.is_some()).count();
        let utterances = if number == 0 { self.alignments.len() } else { aligned };
        self.observer.event(Event::Stage {
            kind: stage.kind,
            utterances,
            frames: self.passes.corpus.frames(),
            leaves: stage.leaves,
            gaussians: stage.gaussians,
        });
        match stage.kind {
            StageKind::Monophones => start::begin(self, stage)?,
            StageKind::Triphones => self.begin_triphones(stage)?,
            StageKind::LdaMllt => self.begin_lda(stage)?,
            StageKind::Sat => self.begin_sat(stage)?,
        }
        let first = match stage.kind {
            StageKind::Monophones => start::passes(stage),
            _ => 1,
        };
        self.iterations(stage, first..stage.iterations)?;
        // The last stage's model, and that before triphones, align what comes next.
        if stage.kind == StageKind::Sat {
            let stats = self.passes.model_stats(&self.front, &self.model, &self.alignments, true)?;
            let mut gmms = self.model.gmms.clone();
            let settings = Update { min_occupancy: 10.0, remove: false, gaussians: None, power: stage.power };
            estimate::update_gmms(&mut gmms, &stats, &settings)?;
            self.independent = Some(gmms);
        }
        if number + 1 < self.recipe.stages.len() {
            self.realign(&self.recipe.beams.clone())?;
        }
        Ok(())
    }

    /// Does iterations, and returns the log-likelihood of a frame in the last one.
    pub fn iterations(&mut self, stage: &Stage, numbers: Range<usize>) -> Result<f64> {
        let left = (stage.last_increase + 1).saturating_sub(numbers.start).max(1);
        let step = stage.gaussians.saturating_sub(self.gaussians) / left;
        let mut log_likelihood = f64::NEG_INFINITY;
        for iteration in numbers {
            if stage.realign.contains(&iteration) {
                let beams = match stage.kind {
                    StageKind::Monophones if iteration == 1 => &self.recipe.first_beams,
                    StageKind::Monophones => &self.recipe.monophone_beams,
                    _ => &self.recipe.beams,
                };
                self.realign(&beams.clone())?;
            }
            if stage.transform.contains(&iteration) {
                self.transform(stage.kind)?;
            }
            log_likelihood = self.iterate(stage, iteration)?;
            if iteration <= stage.last_increase {
                self.gaussians += step;
            }
        }
        Ok(log_likelihood)
    }

    pub fn settings(&self, beams: &Beams) -> AlignSettings {
        let recipe = self.recipe;
        AlignSettings {
            scales: TransitionScales {
                transition: recipe.transition_scale,
                self_loop: recipe.self_loop_scale,
            },
            acoustic_scale: recipe.acoustic_scale,
            beams: beams.clone(),
        }
    }

    pub fn realign(&mut self, beams: &Beams) -> Result<()> {
        let silence = self.lang.optional_silence;
        let gmms = estimate::boosted(&self.model, &self.model.gmms, silence, self.recipe.boost_silence)?;
        let settings = self.settings(beams);
        let outcomes = self.passes.align(&self.front, &self.model, &gmms, self.lexicon, &settings)?;
        self.take(outcomes)?;
        self.did(ALIGNMENT);
        Ok(())
    }

    /// Takes new alignments. Fails if there are none.
    pub fn take(&mut self, outcomes: Vec<Outcome>) -> Result<()> {
        let (mut aligned, mut retried, mut failed) = (0, 0, 0);
        for (place, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok((ids, beam)) => {
                    aligned += 1;
                    retried += usize::from(beam > 0);
                    self.alignments[place] = Some(ids);
                    self.reasons[place] = None;
                }
                Err(reason) => {
                    failed += 1;
                    self.alignments[place] = None;
                    self.reasons[place] = Some(reason);
                }
            }
        }
        self.observer.event(Event::Aligned { aligned, retried, failed });
        if aligned > 0 {
            return Ok(());
        }
        let first = self.reasons.iter().zip(self.passes.corpus.utterances).find_map(|(reason, utterance)| {
            Some(format!(", for example {}: {}", utterance.key, reason.as_ref()?))
        });
        Err(Error::data(format!("no utterance can be aligned{}", first.unwrap_or_default())))
    }

    /// Updates the model by its alignments. Returns the log-likelihood of a frame before the update.
    pub fn iterate(&mut self, stage: &Stage, iteration: usize) -> Result<f64> {
        let stats = self.passes.model_stats(&self.front, &self.model, &self.alignments, false)?;
        let first = stage.kind == StageKind::Monophones && iteration == 0;
        let settings = Update {
            min_occupancy: if first { 3.0 } else { 10.0 },
            remove: true,
            gaussians: Some(self.gaussians),
            power: stage.power,
        };
        let gaussians = estimate::update(&mut self.model, &stats, &settings)?;
        let log_likelihood = stats.log_likelihood / stats.frames.max(1.0);
        self.observer.event(Event::Iteration {
            number: iteration,
            of: stage.iterations,
            log_likelihood,
            frames: stats.frames,
            gaussians,
        });
        self.did(1.0);
        Ok(log_likelihood)
    }

    fn transform(&mut self, kind: StageKind) -> Result<()> {
        let silence = &self.lang.silence;
        let (passes, front, alignments) = (&self.passes, &mut self.front, &self.alignments);
        match kind {
            StageKind::LdaMllt => {
                estimate::mllt(passes, front, &mut self.model, alignments, silence, self.observer)?;
            }
            StageKind::Sat => {
                let models = (&self.model, &self.model.gmms);
                let settings = FmllrSettings { least: self.recipe.min_speaker_frames, prior: 0.0 };
                estimate::fmllr(passes, front, models, (alignments, None), silence, settings, self.observer)?;
            }
            StageKind::Monophones | StageKind::Triphones => {}
        }
        self.did(1.0);
        Ok(())
    }

    /// Builds a tree with the present features and alignments, and converts these.
    fn begin_triphones(&mut self, stage: &Stage) -> Result<()> {
        let stats = tree::statistics(&self.passes, &self.front, &self.model, &self.alignments, self.lang)?;
        let mut triphones = tree::build(&stats, self.lang, stage.leaves, self.observer)?;
        self.gaussians = stage.leaves.max(triphones.model.gmms.num_gauss());
        estimate::split(&mut triphones.model.gmms, &triphones.occupancies, self.gaussians, stage.power)?;
        tree::convert(&self.model, &triphones.model, &mut self.alignments)?;
        self.model = triphones.model;
        self.did(ALIGNMENT);
        Ok(())
    }

    fn begin_lda(&mut self, stage: &Stage) -> Result<()> {
        let Recipe { splice, lda_dim, .. } = *self.recipe;
        let (alignments, silence) = (&self.alignments, &self.lang.silence);
        let (lda, full) = estimate::lda_of_splices(
            &self.passes,
            &self.front,
            &self.model,
            alignments,
            silence,
            splice,
            lda_dim,
        )?;
        self.front.set_kind(FeatureKind::Spliced { left: splice.0, right: splice.1, lda });
        self.full_lda = Some(full);
        self.begin_triphones(stage)
    }

    /// First transforms by the model before, and an alignment with them.
    fn begin_sat(&mut self, stage: &Stage) -> Result<()> {
        self.transform(StageKind::Sat)?;
        self.realign(&self.recipe.beams.clone())?;
        self.begin_triphones(stage)
    }

    fn finish(self) -> Trained {
        let recipe = self.recipe;
        self.observer.event(Event::Progress(1.0));
        let system = System {
            model: self.model,
            independent: self.independent,
            features: self.front.kind().clone(),
            full_lda: self.full_lda,
            normalized: recipe.normalized,
            options: AlignOptions {
                acoustic_scale: recipe.acoustic_scale,
                transition_scale: recipe.transition_scale,
                self_loop_scale: recipe.self_loop_scale,
                boost_silence: recipe.boost_silence,
                beams: recipe.beams.clone(),
                min_speaker_frames: recipe.min_speaker_frames,
                ..AlignOptions::default()
            },
        };
        Trained { system, reasons: self.reasons }
    }
}
