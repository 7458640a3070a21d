//! Log lines of the programs of this family. Scripts parse those of objectives.

use kaldi_cli::log::sites::MAX_CHANGE;
use kaldi_cli::log::{Site, num, ratio};
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_graph::arpa::Event as Arpa;
use nnet3::messages;
use nnet3_rnnlm::creator::EgsEvent;
use nnet3_rnnlm::sampling_lm::arpa::ArpaEvent;
use nnet3_rnnlm::tracker::{Interval, Overall};
use nnet3_rnnlm::training::{Event, Trained};

const INTERVAL: Site = Site::new("PrintStatsThisInterval", "rnnlm-core-training.cc", 100);
const OVERALL: Site = Site::new("PrintStatsOverall", "rnnlm-core-training.cc", 118);
const MAX_CHANGE_STATS: Site = Site::new("PrintMaxChangeStats", "rnnlm-core-training.cc", 296);
const EMBEDDING_LIMIT: Site = Site::new("Train", "rnnlm-embedding-training.cc", 92);
const EMBEDDING_STATS: Site = Site::new("PrintStats", "rnnlm-embedding-training.cc", 270);
const TRAINED: Site = Site::new("~RnnlmTrainer", "rnnlm-training.cc", 283);
const REFUSED: Site = Site::new("UpdateNnetWithMaxChange", "nnet-utils.cc", 2187);
const LARGE: Site = Site::new("ProcessRnnlmOutputNoSampling", "rnnlm-example-utils.cc", 290);
const ARPA_DATA: Site = Site::new("Read", "arpa-file-parser.cc", 94);
const ARPA_SECTION: Site = Site::new("Read", "arpa-file-parser.cc", 149);
const ARPA_WARNING: Site = Site::new("Read", "arpa-file-parser.cc", 219);
const LM_WARNING: Site = Site::new("ReadComplete", "sampling-lm.cc", 150);

/// Logs averages over some minibatches.
pub fn interval(interval: &Interval) {
    kaldi_log!(INTERVAL, "{interval}");
}

/// Logs averages over the last minibatches and over all.
pub fn objectives((last, overall): &(Option<Interval>, Overall)) {
    last.iter().for_each(interval);
    kaldi_log!(OVERALL, "{overall}");
}

/// Warns of an exact denominator that is larger than the number of words.
pub fn large_denominator(value: f64) {
    kaldi_warn!(LARGE, "Big den objf {}", num(value));
}

/// Logs what happened during training.
pub fn training(event: &Event) {
    match event {
        Event::Interval(averages) => interval(averages),
        Event::MaxChange(limits) => kaldi_log!(MAX_CHANGE, "{limits}"),
        Event::ChangeRefused { minibatch } => {
            kaldi_warn!(REFUSED, "Infinite parameter change, will not apply. (Minibatch {minibatch})")
        }
        Event::EmbeddingMaxChange { scale, change, limit } => kaldi_log!(
            EMBEDDING_LIMIT,
            "Applying max-change with scale {} since param-change={} >  --embedding.max-param-change={}",
            num((*scale).into()),
            num((*change).into()),
            num((*limit).into())
        ),
        Event::LargeDenominator(value) => large_denominator(*value),
    }
}

/// Logs the totals of a training.
pub fn trained(trained: &Trained) {
    let (limits, core) = (&trained.max_change, &trained.core);
    let percent = |count: u64, per_minibatch: f64| {
        ratio(100.0 * count as f64, trained.minibatches as f64 * per_minibatch)
    };
    for (name, count) in limits.components.iter().filter(|(_, count)| *count > 0) {
        let percent = percent(*count, 1.0);
        kaldi_log!(
            MAX_CHANGE_STATS,
            "For {name}, per-component max-change was enforced {percent}% of the time."
        );
    }
    if limits.global > 0 {
        let updates = match core.backstitch_training_scale {
            0.0 => 1.0,
            _ => 1.0 + 1.0 / f64::from(core.backstitch_training_interval),
        };
        let percent = percent(limits.global, updates);
        kaldi_log!(MAX_CHANGE_STATS, "The global max-change was enforced {percent}% of the time.");
    }
    objectives(&trained.objectives);
    nnet3::training_log::compilation(&trained.compiler);
    if let Some(summary) = &trained.summary {
        kaldi_log!(
            EMBEDDING_STATS,
            "Processed a total of {} minibatches.max-change was enforced {} % of the time.",
            summary.steps,
            num(summary.limited)
        );
        kaldi_log!(
            EMBEDDING_STATS,
            "Norm of embedding-matrix differences is {} (initial norm of matrix was {}; now it is {})",
            num(summary.change),
            num(summary.initial),
            num(summary.trained)
        );
        let relative = ratio(summary.change, summary.initial);
        kaldi_log!(EMBEDDING_STATS, "Relative change in embedding matrix is {relative}");
    }
    kaldi_log!(TRAINED, "Trained on {} minibatches.\n", trained.minibatches);
}

/// Logs what happens while an ARPA file is read.
pub fn arpa(event: ArpaEvent) {
    match event {
        ArpaEvent::Reading(Arpa::Data) => kaldi_log!(ARPA_DATA, "Reading \\data\\ section."),
        ArpaEvent::Reading(Arpa::Section(line)) => kaldi_log!(ARPA_SECTION, "Reading {line} section."),
        ArpaEvent::Reading(Arpa::Warning(message) | Arpa::ManyWarnings(message)) => {
            kaldi_warn!(ARPA_WARNING, "{message}")
        }
        ArpaEvent::Warning(message) => kaldi_warn!(LM_WARNING, "{message}"),
    }
}

/// Warns of what is strange about text or the language model, ten times of each.
#[derive(Default)]
pub struct EgsWarnings([u32; 3]);

/// Warnings of one kind.
const MOST: u32 = 10;

impl EgsWarnings {
    pub fn event(&mut self, event: EgsEvent) {
        let (kind, message) = match event {
            EgsEvent::EndsWithEos(line) => (
                0,
                format!(
                    "line {line}: Raw word sequence contains </s> at the end. Is this a bug in your data preparation? We'll add another one."
                ),
            ),
            EgsEvent::NoHistories => (1, "No histories seen (we don't expect to see this very often)".to_owned()),
            EgsEvent::TotalOff => (
                2,
                "Total weight does not have expected value: the probabilities of the language model for sampling do not sum to one"
                    .to_owned(),
            ),
        };
        self.0[kind] += 1;
        match self.0[kind] {
            ..=MOST => messages::warn(&message),
            count if count == MOST + 1 => messages::warn("More such warnings are left out."),
            _ => {}
        }
    }
}
