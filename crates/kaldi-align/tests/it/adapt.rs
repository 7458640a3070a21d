//! Training a system on.

use std::num::NonZero;

use kaldi_align::recipe::Stage;
use kaldi_align::{AdaptOptions, Event, Recipe, System, Utterance, train};

use crate::speech::{corpus, lang};

pub fn one() -> NonZero<usize> {
    NonZero::new(1).unwrap()
}

/// A system for two speakers, and utterances whose sounds differ from theirs in a way that no mean of a speaker undoes.
pub fn system_and_others(stages: usize) -> (System, Vec<Utterance>) {
    let short = |stage: Stage| Stage {
        iterations: 7,
        last_increase: 5,
        realign: vec![1, 2, 4],
        transform: if stage.transform.is_empty() { Vec::new() } else { vec![2] },
        ..stage
    };
    let all = [Stage::monophones(60), Stage::triphones(30, 40), Stage::lda_mllt(30, 40), Stage::sat(30, 40)];
    let stages = all.into_iter().take(stages).map(short).collect();
    let recipe =
        Recipe { stages, splice: (1, 1), lda_dim: 8, min_speaker_frames: 100.0, ..Recipe::default() };
    let (utterances, _) = corpus(&lang(), 30, 2);
    let system = train(&lang(), &utterances, &recipe, one(), &mut |_: Event| ()).unwrap().system;
    let (mut others, _) = corpus(&lang(), 30, 1);
    for value in others.iter_mut().flat_map(|utterance| &mut utterance.features.data) {
        *value += 0.15 * *value * *value;
    }
    (system, others)
}

fn log_likelihood(system: &System, utterances: &[Utterance]) -> f64 {
    let aligned = system.align(&lang(), utterances, one(), &mut |_: Event| ()).unwrap();
    let (mut sum, mut frames) = (0.0, 0.0);
    for alignment in aligned.results.iter().flatten() {
        sum += alignment.log_likelihood * alignment.ids.len() as f64;
        frames += alignment.ids.len() as f64;
    }
    sum / frames
}

#[test]
fn held_out_speech_of_the_same_speaker_becomes_more_likely() {
    for stages in [1, 4] {
        let (system, others) = system_and_others(stages);
        let (seen, held_out) = others.split_at(20);
        let options = AdaptOptions { tau: 10.0, iterations: 3 };
        let adapted = system.adapt(&lang(), seen, &options, one(), &mut |_: Event| ()).unwrap();
        assert!(adapted.reasons.iter().all(Option::is_none));
        assert_eq!(adapted.system.independent.is_some(), stages == 4);
        let (before, after) = (log_likelihood(&system, held_out), log_likelihood(&adapted.system, held_out));
        assert!(after > before + 0.2, "{stages} stages: {before} before, {after} after");
    }
}

#[test]
fn means_stay_if_the_system_counts_as_very_many_frames() {
    let (system, others) = system_and_others(1);
    let adapt = |tau| {
        let options = AdaptOptions { tau, iterations: 1 };
        system.adapt(&lang(), &others, &options, one(), &mut |_: Event| ())
    };
    let moved = |other: &System| {
        let pairs = system.model.gmms.pdfs().iter().zip(other.model.gmms.pdfs());
        let distance = |(a, b): (&kaldi_gmm::DiagGmm, &kaldi_gmm::DiagGmm)| {
            let means = (0..a.num_gauss()).flat_map(|g| a.mean(g).into_iter().zip(b.mean(g)));
            means.map(|(x, y)| f64::from((x - y).abs())).sum::<f64>()
        };
        pairs.map(distance).sum::<f64>()
    };
    let (little, much) = (adapt(1e9).unwrap(), adapt(5.0).unwrap());
    assert!(moved(&little.system) < 0.01 * moved(&much.system), "{}", moved(&little.system));
    assert!(moved(&much.system) > 0.1);
    let message = adapt(0.0).unwrap_err().to_string();
    assert!(message.contains("`tau`=0: expected a number above 0"), "{message}");
}
