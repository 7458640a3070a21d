//! Transforms of speakers: a prior, and weights of words.

use kaldi_align::{Event, System, Utterance};
use kaldi_io::DenseMatrix;

use crate::adapt::{one, system_and_others};
use crate::speech::lang;

/// The transform of the only speaker, and the frames that it was made from.
fn transform(
    system: &System,
    utterances: &[Utterance],
    weights: Option<&[Vec<f32>]>,
) -> (Option<DenseMatrix<f32>>, f64) {
    let aligned = system.align_weighted(&lang(), utterances, weights, one(), &mut |_: Event| ()).unwrap();
    (aligned.transforms.into_iter().next().unwrap().1, aligned.frames[0])
}

fn weights(utterances: &[Utterance], of: impl Fn(usize) -> f32) -> Vec<Vec<f32>> {
    let of = |(place, utterance): (usize, &Utterance)| vec![of(place); utterance.words.len()];
    utterances.iter().enumerate().map(of).collect()
}

/// The largest difference from the identity.
fn distance(transform: &DenseMatrix<f32>) -> f32 {
    let cols = transform.cols;
    let value = |(at, x): (usize, &f32)| (x - if at / cols == at % cols { 1.0 } else { 0.0 }).abs();
    transform.data.iter().enumerate().map(value).fold(0.0, f32::max)
}

#[test]
fn a_prior_draws_transforms_towards_the_identity() {
    let (mut system, others) = system_and_others(4);
    let (likeliest, frames) = transform(&system, &others, None);
    let mut before = distance(&likeliest.unwrap());
    assert!(before > 0.1, "{before}");
    for prior in [frames, 100.0 * frames, 1e7 * frames] {
        system.options.prior_frames = prior;
        let (drawn, same) = transform(&system, &others, None);
        let now = distance(&drawn.unwrap());
        assert!(
            now < before && same == frames,
            "{prior} virtual frames: {now} after {before}; {same} of {frames}"
        );
        before = now;
    }
    assert!(before < 1e-3, "{before}");
    // A prior is no speech.
    system.options.min_speaker_frames = frames;
    assert_eq!(transform(&system, &others, None), (None, frames));
}

#[test]
fn words_without_weight_do_not_change_the_transform() {
    let (system, others) = system_and_others(4);
    let as_they_are = transform(&system, &others, None);
    assert_eq!(transform(&system, &others, Some(&weights(&others, |_| 1.0))), as_they_are);
    let half = weights(&others, |place| if place % 2 == 0 { 1.0 } else { 0.0 });
    let (right, frames) = transform(&system, &others, Some(&half));
    let mut wrong = others.clone();
    for utterance in wrong.iter_mut().skip(1).step_by(2) {
        utterance.words.reverse();
        utterance.words.rotate_left(1);
    }
    assert_ne!(wrong, others);
    assert_eq!(transform(&system, &wrong, Some(&half)), (right, frames));
    assert_ne!(transform(&system, &wrong, None).0, as_they_are.0);
    assert!(frames < 0.7 * as_they_are.1 && frames > 0.3 * as_they_are.1, "{frames} of {}", as_they_are.1);
    let quarter = weights(&others, |_| 0.25);
    let (_, frames) = transform(&system, &others, Some(&quarter));
    assert!((frames - 0.25 * as_they_are.1).abs() < 1e-3 * frames, "{frames} of {}", as_they_are.1);
}

#[test]
fn weights_that_do_not_fit_are_errors() {
    let (system, others) = system_and_others(4);
    let error = |weights: &[Vec<f32>]| {
        let aligned = system.align_weighted(&lang(), &others, Some(weights), one(), &mut |_: Event| ());
        aligned.unwrap_err().to_string()
    };
    let mut all = weights(&others, |_| 1.0);
    assert!(error(&all[1..]).contains("29 utterances have weights of words: expected 30"));
    all[3][0] = 1.5;
    assert!(error(&all).contains("the weight 1.5"), "{}", error(&all));
    all[3][0] = f32::NAN;
    assert!(error(&all).contains("the weight NaN"));
    all[3] = Vec::new();
    assert!(error(&all).contains("words and weights of 0"));
}
