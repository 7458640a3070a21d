//! The tree of triphones, and the first model of its leaves.

use kaldi_hmm::convert::Conversion;
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_lang::Lang;
use kaldi_tree::accumulate::{AccumulateOptions, Accumulator};
use kaldi_tree::build::{BuildOptions, build_tree};
use kaldi_tree::questions::most_pdf_classes;
use kaldi_tree::stats::Sum;
use kaldi_tree::{Gauss, Message, Questions, TreeStats, automatic, init};

use crate::error::{Error, Result};
use crate::features::Front;
use crate::network::Model;
use crate::observer::{Event, Observer};
use crate::passes::{Alignments, Passes};
use crate::random::Numbers;

/// The window of triphones.
const WIDTH: usize = 3;
const CENTRAL: usize = 1;
const VAR_FLOOR: f32 = 0.01;
/// Least improvement by a split.
const THRESH: f32 = 300.0;

/// Passes messages of tree building on.
fn report(observer: &mut dyn Observer) -> impl FnMut(Message) + '_ {
    |message| match message {
        Message::Log(text) => observer.event(Event::Detail { text, is_warning: false }),
        Message::Warning(text) => observer.event(Event::Detail { text, is_warning: true }),
        Message::Verbose(..) => {}
    }
}

/// A model of triphones with one Gaussian for each leaf, and the occupancies of its pdfs.
pub struct Triphones {
    pub model: Model,
    pub occupancies: Vec<f32>,
}

/// Collects statistics of phones in context.
pub fn statistics(
    passes: &Passes,
    front: &Front,
    model: &Model,
    alignments: &Alignments,
    lang: &Lang,
) -> Result<TreeStats<Gauss>> {
    let new = || {
        Accumulator::new(AccumulateOptions {
            var_floor: VAR_FLOOR,
            context_independent: lang.context_independent.clone(),
            context_width: WIDTH,
            central_position: CENTRAL,
            phone_map: None,
        })
    };
    let mut sum = Sum::new();
    passes.sum(
        |members| {
            let mut accumulator = new()?;
            for place in members {
                if let Some(ids) = &alignments[place] {
                    let features = front.features(place)?;
                    accumulator.add(&model.transitions, ids, &features)?;
                }
            }
            Ok(accumulator.finish())
        },
        |stats| Ok(sum.add(stats)?),
    )?;
    Ok(sum.finish())
}

/// Builds the tree of `leaves` leaves at most, and the first model.
pub fn build(
    stats: &TreeStats<Gauss>,
    lang: &Lang,
    leaves: usize,
    observer: &mut dyn Observer,
) -> Result<Triphones> {
    let Some(topology) = &lang.topology else {
        return Err(Error::data("the language has no topology"));
    };
    let middle = if most_pdf_classes(topology) > 1 { 1 } else { 0 };
    let mut numbers = Numbers::new(0);
    let mut rand = || numbers.draw();
    let mut questions =
        automatic::obtain_questions(stats, &lang.sets, &[middle], CENTRAL, &mut rand, &mut report(observer))?;
    for question in &lang.extra_questions {
        let mut question = question.clone();
        question.sort_unstable();
        questions.push(question);
    }
    questions.retain(|question| !question.is_empty());
    questions.sort_unstable();
    questions.dedup();
    let questions = Questions::about_phones(&questions, topology, WIDTH, 0);
    let options = BuildOptions {
        central_position: CENTRAL,
        thresh: THRESH,
        max_leaves: i32::try_from(leaves).unwrap_or(i32::MAX),
        cluster_thresh: -1.0,
        round_num_leaves: true,
    };
    let to_pdf = build_tree(stats, &lang.roots, &questions, topology, &options, &mut report(observer))?;
    let tree = ContextDependency::new(WIDTH, CENTRAL, to_pdf)?;
    let transitions = TransitionModel::new(&tree, topology.clone())?;
    let gmms = init::from_stats(stats, &tree, &transitions, VAR_FLOOR, &mut report(observer))?;
    let occupancies = init::occupancies(stats, &tree)?;
    observer.event(Event::Tree { leaves: tree.num_pdfs() });
    Ok(Triphones { model: Model { transitions, tree, gmms }, occupancies })
}

/// Converts alignments of one model to another with the same topology.
///
/// # Errors
/// An alignment is not one of the model `from`.
pub fn convert(from: &Model, to: &Model, alignments: &mut Alignments) -> Result<()> {
    let conversion = Conversion {
        from: &from.transitions,
        to: &to.transitions,
        tree: &to.tree,
        subsampling_factor: 1,
        repeat_frames: false,
        reorder: true,
        map_phone: None,
    };
    let mut numbers = Numbers::new(0);
    for ids in alignments.iter_mut().flatten() {
        let old = from.transitions.transition_ids(ids)?;
        let new = conversion.convert(&old, &mut || numbers.draw())?;
        *ids = new.into_iter().map(|id| id.get() as i32).collect();
    }
    Ok(())
}
