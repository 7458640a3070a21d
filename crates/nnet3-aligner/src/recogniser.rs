//! A recogniser as a model for alignment: HMMs, names of phones, and the outputs of its network.

use std::path::Path;

use kaldi_align::AlignOptions;
use kaldi_aligner::{AnyModel, FrameTimes, NetworkModel, Scorer as ScorerTrait, Scoring, SilenceSettings};
use kaldi_fst::store::Symbols;
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::{DenseMatrix, read_object};
use nnet3_online::model_graph::ModelGraph;
use nnet3_online::{Model, ModelOptions, Scorer};

use crate::place::Place;
use crate::{Error, Opened, Result};

/// Opens the recogniser at a place.
pub(crate) fn open(place: &Place) -> Result<Opened> {
    let name = text(&place.folder)?;
    let phones: Vec<String> = place.phones.iter().map(|file| text(file)).collect::<Result<_>>()?;
    let graph = ModelGraph::read_with_phones(&name, &phones)?;
    // Any rate is brought to the model's before.
    let options = ModelOptions { allow_upsample: true, ..ModelOptions::default() };
    let recogniser = Model::open(&place.folder, &options)?;
    let mut warnings: Vec<String> =
        recogniser.notices().iter().filter(|notice| notice.is_warning()).map(ToString::to_string).collect();
    if let Some(phone) = graph.nameless {
        warnings.push(format!(
            "the table of phones of {name} does not name phone {phone}, so it belongs to another model: phones are p and a number, as \
             nnet3-lexicon prints them"
        ));
    }
    let transitions = graph.transitions.clone();
    let (tree, silence) = tree(place, &graph, &name)?;
    let mut phones = Symbols::new("phones.txt");
    let numbers = transitions.topology().phones().iter().map(|&phone| (graph.phone_name(phone), phone));
    for (phone, number) in [("<eps>", 0)].into_iter().chain(numbers) {
        let added = phones.add(phone, number.into());
        added.map_err(|message| Error::File { path: name.clone(), message })?;
    }
    let (seconds, offset) = recogniser.output_frame_times();
    let model = NetworkModel {
        options: options_of(&transitions),
        transitions,
        tree,
        phones,
        silence: SilenceSettings { phone: Some(silence), ..SilenceSettings::default() },
        rate: recogniser.sample_rate() as u32,
        times: FrameTimes { seconds: seconds.into(), offset: offset.into() },
        scoring: Box::new(Outputs { recogniser }),
    };
    Ok(Opened { model: AnyModel::Network(Box::new(model)), warnings, graph: Some((graph, name)) })
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::File {
        path: path.display().to_string(),
        message: "the name is not UTF-8".to_owned(),
    })
}

/// Names of the phone of silence.
const SILENCE: [&str; 4] = ["SIL", "sil", "sp", "SP"];

/// The tree of a model, from the first file that fits it or from its graph, and the name of the phone of silence.
fn tree(place: &Place, graph: &ModelGraph, folder: &str) -> Result<(ContextDependency, String)> {
    let topology_phones = graph.transitions.topology().phones();
    let named = SILENCE
        .iter()
        .find(|name| topology_phones.iter().any(|&phone| graph.phone_name(phone) == **name))
        .map(|name| (*name).to_owned());
    for file in &place.trees {
        let tree: ContextDependency = read_object(&text(file)?)?;
        let made = TransitionModel::new(&tree, graph.transitions.topology().clone());
        if let (true, Some(silence)) =
            (made.is_ok_and(|made| made.states() == graph.transitions.states()), &named)
        {
            return Ok((tree, silence.clone()));
        }
    }
    let context = graph.context()?;
    let found = context.silence.map(|phone| graph.phone_name(phone).to_owned());
    match named.or(found) {
        Some(silence) => Ok((context.tree.tree, silence)),
        None => Err(Error::File {
            path: folder.to_owned(),
            message: "the graph has no phone outside of words (silence)".to_owned(),
        }),
    }
}

/// Settings of the search: those of chain models, or those of Gaussian models as networks, whose self-loops have little weight.
fn options_of(transitions: &TransitionModel) -> AlignOptions {
    let topology = transitions.topology();
    let states = topology.phones().iter().filter_map(|&phone| topology.entry(phone)).flatten();
    let is_chain = states
        .into_iter()
        .any(|state| state.self_loop_pdf_class.is_some_and(|class| Some(class) != state.forward_pdf_class));
    match is_chain {
        true => AlignOptions::for_chain(),
        false => AlignOptions {
            self_loop_scale: AlignOptions::default().self_loop_scale,
            ..AlignOptions::for_chain()
        },
    }
}

/// Outputs of a recogniser's network.
struct Outputs {
    recogniser: Model,
}

struct OutputsOfThread {
    scorer: Scorer,
    rate: f32,
}

impl Scoring for Outputs {
    fn scorer(&self) -> std::result::Result<Box<dyn ScorerTrait + '_>, String> {
        let scorer = Scorer::new(&self.recogniser).map_err(|error| kaldi_io::error::chain(&error))?;
        Ok(Box::new(OutputsOfThread { scorer, rate: self.recogniser.sample_rate() }))
    }
}

impl ScorerTrait for OutputsOfThread {
    fn score(&mut self, samples: &[f32]) -> std::result::Result<DenseMatrix<f32>, String> {
        self.scorer.score(self.rate, samples).map_err(|error| kaldi_io::error::chain(&error))
    }
}
