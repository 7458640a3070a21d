//! Sums of statistics, beside sums by the formulas.

use std::num::NonZero;

use kaldi_align::features::{Front, Normalized};
use kaldi_align::passes::Passes;
use kaldi_align::recipe::Stage;
use kaldi_align::utterance::Corpus;
use kaldi_align::{Event, Recipe, train};
use kaldi_gmm::DiagGmm;

use crate::speech::{DIM, corpus, lang};

/// The weighted densities of a mixture's Gaussians at a frame.
fn densities(gmm: &DiagGmm, frame: &[f32]) -> Vec<f64> {
    let density = |g: usize| {
        let mean = gmm.mean(g);
        let exponents = gmm.inv_vars().row(g).zip(&mean).zip(frame).map(|((inv_var, &mean), &x)| {
            let (inv_var, offset) = (f64::from(inv_var), f64::from(x) - f64::from(mean));
            0.5 * (inv_var / std::f64::consts::TAU).ln() - 0.5 * inv_var * offset * offset
        });
        f64::from(gmm.weights()[g]) * exponents.sum::<f64>().exp()
    };
    (0..gmm.num_gauss()).map(density).collect()
}

#[test]
fn the_sums_of_an_iteration_are_those_of_the_formulas() {
    let lang = lang();
    let (utterances, _) = corpus(&lang, 30, 2);
    let stages = vec![Stage { iterations: 8, last_increase: 6, ..Stage::monophones(80) }];
    let recipe = Recipe { stages, ..Recipe::default() };
    let two = NonZero::new(2).unwrap();
    let system = train(&lang, &utterances, &recipe, two, &mut |_: Event| ()).unwrap().system;
    let aligned = system.align(&lang, &utterances, two, &mut |_: Event| ()).unwrap();
    let alignments =
        aligned.results.iter().map(|result| Some(result.as_ref().unwrap().ids.clone())).collect();
    let corpus = Corpus::new(&utterances, DIM);
    let front = Front::new(&corpus, system.features.clone(), Normalized::Means).unwrap();
    let passes = Passes { corpus: &corpus, threads: two };
    let stats = passes.model_stats(&front, &system.model, &alignments, false).unwrap();
    let model = &system.model;
    let mut log_likelihood = 0.0;
    let mut transitions = vec![0.0; model.transitions.num_transition_ids() + 1];
    let mut occupancies: Vec<Vec<f64>> =
        model.gmms.pdfs().iter().map(|pdf| vec![0.0; pdf.num_gauss()]).collect();
    for (place, result) in aligned.results.iter().enumerate() {
        let features = front.features(place).unwrap();
        for (t, &id) in result.as_ref().unwrap().ids.iter().enumerate() {
            transitions[id as usize] += 1.0;
            let pdf = model.transitions.pdf(model.transitions.transition_id(id).unwrap()) as usize;
            let densities = densities(&model.gmms.pdfs()[pdf], features.row(t));
            let sum: f64 = densities.iter().sum();
            log_likelihood += sum.ln();
            occupancies[pdf].iter_mut().zip(densities).for_each(|(to, density)| *to += density / sum);
        }
    }
    assert_eq!(stats.transitions, transitions);
    assert!((stats.log_likelihood - log_likelihood).abs() < 1e-4 * log_likelihood.abs());
    assert!(occupancies.iter().any(|pdf| pdf.len() > 1), "mixtures have several Gaussians");
    for (stats, expected) in stats.pdfs.iter().zip(occupancies) {
        for (found, expected) in stats.occupancies().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3 * expected.max(1.0), "{found} and {expected}");
        }
    }
}
