//! A source of log-likelihoods, which is a model of Gaussians here, beside that model itself.

use kaldi_align::{AlignOptions, System, Utterance};
use kaldi_aligner::{FeatureSettings, Model, NetworkModel, Scorer, Scoring};
use kaldi_feat::spectral::Extractor;
use kaldi_gmm::Likelihoods;
use kaldi_io::DenseMatrix;

use crate::sounds::{Made, one, phones};

/// Gaussians as if they were a network.
struct Gaussians {
    system: System,
    features: FeatureSettings,
}

impl Scoring for Gaussians {
    fn scorer(&self) -> Result<Box<dyn Scorer + '_>, String> {
        Ok(Box::new(Of(self)))
    }
}

struct Of<'g>(&'g Gaussians);

impl Scorer for Of<'_> {
    fn score(&mut self, samples: &[f32]) -> Result<DenseMatrix<f32>, String> {
        let Gaussians { system, features } = self.0;
        let mut extractor = Extractor::new(features.spectral()).map_err(|error| error.to_string())?;
        let cepstra =
            extractor.features(samples, features.rate as f32, 1.0).map_err(|error| error.to_string())?;
        // (Each utterance is a speaker.)
        let utterances = [Utterance {
            key: "u".to_owned(),
            speaker: "s".to_owned(),
            features: cepstra,
            words: Vec::new(),
        }];
        let corpus = kaldi_align::utterance::Corpus::new(&utterances, system.cepstra());
        let front =
            kaldi_align::features::Front::new(&corpus, system.features.clone(), system.normalized).unwrap();
        let features = front.features(0).unwrap();
        let likelihoods = Likelihoods::new(&system.model.gmms, &features).unwrap();
        let (rows, cols) = (features.rows, system.model.gmms.pdfs().len());
        let data = (0..rows * cols).map(|n| likelihoods.get(n / cols, n % cols)).collect();
        Ok(DenseMatrix { rows, cols, data })
    }
}

/// A network whose HMMs are those of Gaussians, with outputs of `scoring`.
fn network_of(model: &Model, options: AlignOptions, scoring: Box<dyn Scoring>) -> NetworkModel {
    NetworkModel {
        transitions: model.system.model.transitions.clone(),
        tree: model.system.model.tree.clone(),
        phones: model.phones.clone(),
        silence: model.silence.clone(),
        rate: model.features.rate,
        times: model.features.times(),
        options,
        scoring,
    }
}

#[test]
fn log_likelihoods_of_a_caller_give_the_times_of_the_model_that_they_come_from() {
    let mut made = Made::new(12);
    // Each recording is a speaker, as the scorer sees no others.
    for (number, utterance) in made.corpus.utterances.iter_mut().enumerate() {
        utterance.speaker = format!("s{number}");
    }
    let mut model = made.monophones();
    model.system.options.boundaries = None;
    let expected = made.align(&model);
    let options = AlignOptions { boundaries: None, ..model.system.options.clone() };
    let scoring = Gaussians { system: model.system.clone(), features: model.features.clone() };
    let network = network_of(&model, options, Box::new(scoring));
    let lang = network.lang(&made.pronunciations).unwrap();
    let mut share = 0.0;
    let found =
        network.align(&lang, &made.pronunciations, &made.corpus, true, one(), |now| share = now).unwrap();
    assert_eq!(share, 1.0);
    let (expected_phones, found_phones) = (phones(&expected), phones(&found));
    assert_eq!(expected_phones.len(), found_phones.len());
    for (expected, found) in expected_phones.iter().zip(&found_phones) {
        assert_eq!(expected.0, found.0);
        // (Times of Gaussians follow the edges of the sound within two frames.)
        assert!((expected.1 - found.1).abs() < 0.03, "{expected:?} {found:?}");
    }
    for (expected, found) in expected.utterances.iter().zip(&found.utterances) {
        let (expected, found) = (expected.as_ref().unwrap(), found.as_ref().unwrap());
        assert!((expected.log_likelihood - found.log_likelihood).abs() < 1e-3);
        for (expected, found) in expected.words.iter().zip(&found.words) {
            assert!((expected.score.unwrap() - found.score.unwrap()).abs() < 1e-3);
        }
    }
    let (texts, reasons) = network.listen(&lang, &made.corpus, one(), |_| ()).unwrap();
    assert!(reasons.iter().all(Option::is_none) && texts.scores.iter().all(Option::is_some));
}

#[test]
fn recordings_that_cannot_be_scored_have_the_reason() {
    struct Broken;
    impl Scoring for Broken {
        fn scorer(&self) -> Result<Box<dyn Scorer + '_>, String> {
            Ok(Box::new(Broken))
        }
    }
    impl Scorer for Broken {
        fn score(&mut self, samples: &[f32]) -> Result<DenseMatrix<f32>, String> {
            match samples.len() % 2 {
                0 => Err("no outputs today".to_owned()),
                _ => Ok(DenseMatrix::new(3, 1)),
            }
        }
    }
    let made = Made::new(6);
    let model = made.monophones();
    let network = network_of(&model, AlignOptions::for_chain(), Box::new(Broken));
    let lang = network.lang(&made.pronunciations).unwrap();
    let found = network.align(&lang, &made.pronunciations, &made.corpus, false, one(), |_| ()).unwrap();
    for result in &found.utterances {
        let reason = result.as_ref().unwrap_err();
        assert!(reason == "no outputs today" || reason.contains("the network has 1 outputs"), "{reason}");
    }
}
