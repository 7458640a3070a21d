//! The first passes of monophones. Several first alignments are tried on a part of the corpus; the most likely one goes on.
//!
//! Expectation maximisation finds a local optimum only. With little speech it may be one in which a phone and silence are
//! exchanged, and its likelihood tells.

use crate::error::Result;
use crate::network::Model;
use crate::observer::Event;
use crate::passes::{Passes, Start};
use crate::recipe::Stage;
use crate::train::{ALIGNMENT, Trainer};
use crate::utterance::{Corpus, Utterance};

/// Iterations before the most likely alignment is chosen.
const PASSES: usize = 10;
/// Frames on which they are done.
const FRAMES: usize = 60_000;
/// Alignments that are tried: many if there is little speech.
const MOST: usize = 8;
const LEAST: usize = 4;

/// The number of first iterations of a stage.
pub(crate) fn passes(stage: &Stage) -> usize {
    PASSES.min(stage.iterations.saturating_sub(1)).max(1)
}

/// A tried start.
struct Tried {
    start: Start,
    log_likelihood: f64,
    model: Model,
    gaussians: usize,
}

/// Does the first iterations of monophones, and aligns all utterances with the model.
pub(crate) fn begin(trainer: &mut Trainer, stage: &Stage) -> Result<()> {
    let corpus = trainer.passes.corpus;
    let chosen = part(corpus);
    let part = Corpus::new(&chosen, corpus.dim);
    let passes_of_part = Passes { corpus: &part, threads: trainer.passes.threads };
    let iterations = passes(stage);
    let count = (FRAMES * LEAST / part.frames().max(1)).clamp(LEAST, MOST);
    let mut best: Option<Tried> = None;
    for number in 0..count {
        let draw = number as u64 / 2;
        let start = if number % 2 == 0 { Start::Pauses { draw } } else { Start::Equal { draw } };
        let mut silent = |_: Event| ();
        let (lang, lexicon, recipe) = (trainer.lang, trainer.lexicon, trainer.recipe);
        let mut trial = Trainer::new(lang, lexicon, passes_of_part, recipe, &mut silent)?;
        let settings = trial.settings(&recipe.first_beams);
        let outcomes = passes_of_part.begin(&trial.model, lexicon, &settings, start)?;
        trial.take(outcomes)?;
        trial.gaussians = trial.model.gmms.num_gauss();
        trial.iterate(stage, 0)?;
        let log_likelihood = trial.iterations(stage, 1..iterations.max(2))?;
        let Trainer { model, gaussians, .. } = trial;
        trainer.observer.event(Event::Message(format!(
            "first alignment {}: log-likelihood of a frame {log_likelihood:.3}",
            name(start)
        )));
        if best.as_ref().is_none_or(|best| log_likelihood > best.log_likelihood) {
            best = Some(Tried { start, log_likelihood, model, gaussians });
        }
        trainer.did((1.0 + ALIGNMENT) * iterations as f64 / count as f64);
    }
    let Some(best) = best else { return Ok(()) };
    trainer.observer.event(Event::Message(format!("the one {} goes on", name(best.start))));
    (trainer.model, trainer.gaussians) = (best.model, best.gaussians);
    trainer.realign(&trainer.recipe.first_beams.clone())
}

fn name(start: Start) -> String {
    match start {
        Start::Equal { draw } => format!("by equal parts, draw {}", draw + 1),
        Start::Pauses { draw } => format!("by pauses, draw {}", draw + 1),
    }
}

/// Utterances from all parts of the corpus, with enough frames for the first iterations.
fn part(corpus: &Corpus) -> Vec<Utterance> {
    let usable: Vec<&Utterance> = corpus
        .utterances
        .iter()
        .zip(&corpus.problems)
        .filter(|(_, problem)| problem.is_none())
        .map(|(utterance, _)| utterance)
        .collect();
    let step = corpus.frames().div_ceil(FRAMES).max(1);
    usable.into_iter().step_by(step).cloned().collect()
}
