//! Goodness of pronunciation (`bin/compute-gop.cc`; Hu and others, "Improved mispronunciation detection with deep neural network trained
//! acoustic models and transfer learning based logistic regression classifiers", 2015).
//!
//! The log posterior LPP(p) of a phone is the mean over a segment of ln Σ P(pdf) over the pdfs that p uses. The goodness of the phone that
//! should be there is its LPP less the largest one.

use std::collections::{BTreeMap, BTreeSet};

use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};
use crate::transitions::TransitionModel;

/// The log posterior of phones that are not looked at.
const SKIPPED: f32 = -10.0;

/// Phones of pdfs, after a mapping of phones.
#[derive(Debug, Clone)]
pub struct Goodness {
    /// For each pdf the phones that use it.
    phones_of_pdf: Vec<BTreeSet<usize>>,
    map: BTreeMap<i32, i32>,
    phones: usize,
    skipped: BTreeSet<i32>,
}

/// A phone of an utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct PhoneGoodness {
    /// After the mapping.
    pub phone: i32,
    pub goodness: f32,
    /// The phone, then LPP(q) of all phones q from 0 on, then LPP(phone) − LPP(q).
    pub features: Vec<f32>,
}

impl Goodness {
    /// `map` is from the model's phones to others. An error if it lacks a phone, or a skipped phone is not among the others.
    pub fn new(model: &TransitionModel, map: BTreeMap<i32, i32>, skipped: BTreeSet<i32>) -> Result<Goodness> {
        let mut phones_of_pdf = vec![BTreeSet::new(); model.num_pdfs()];
        for state in model.states() {
            let mapped =
                map.get(&state.phone).and_then(|&phone| usize::try_from(phone).ok()).ok_or_else(|| {
                    Error::Value(format!("the phone map has no line for phone {} of the model", state.phone))
                })?;
            for pdf in [Some(state.forward_pdf), state.self_loop_pdf].into_iter().flatten() {
                if let Some(phones) = usize::try_from(pdf).ok().and_then(|pdf| phones_of_pdf.get_mut(pdf)) {
                    phones.insert(mapped);
                }
            }
        }
        let phones = phones_of_pdf.iter().flatten().max().map_or(0, |&last| last + 1);
        if let Some(phone) = skipped.iter().find(|&&phone| phone < 0 || phone as usize >= phones) {
            return Err(Error::Value(format!(
                "the phone to skip is {phone}, expected 0 to {}",
                phones.saturating_sub(1)
            )));
        }
        Ok(Goodness { phones_of_pdf, map, phones, skipped })
    }

    /// Returns what is known of the phones of an utterance, but for skipped ones. `probabilities` has a row for each frame and a column
    /// for each pdf, `phones` has the model's phone of each frame, `lengths` the frames of each segment. Frames that one of them
    /// lacks are left out.
    pub fn of_utterance(
        &self,
        probabilities: &DenseMatrix<f32>,
        phones: &[i32],
        lengths: &[usize],
    ) -> Result<Vec<PhoneGoodness>> {
        if probabilities.cols != self.phones_of_pdf.len() {
            return Err(Error::Value(format!(
                "the probabilities have {} columns, but the model has {} pdfs",
                probabilities.cols,
                self.phones_of_pdf.len()
            )));
        }
        let frames = phones.len().min(probabilities.rows);
        let (mut out, mut begin) = (Vec::new(), 0);
        for length in lengths {
            let segment = begin..(begin + length).min(frames);
            begin += length;
            if segment.is_empty() {
                break;
            }
            let from = phones[segment.start];
            let phone = *self.map.get(&from).ok_or_else(|| {
                Error::Value(format!("the phone map has no line for phone {from} of the alignment"))
            })?;
            let own = usize::try_from(phone).ok().filter(|&own| own < self.phones);
            let own =
                own.ok_or_else(|| Error::Value(format!("no pdf of the model belongs to phone {phone}")))?;
            let posteriors = self.log_posteriors(probabilities, segment);
            if self.skipped.contains(&phone) {
                continue;
            }
            let best = posteriors.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let mut features = vec![phone as f32];
            features.extend(&posteriors);
            features.extend(posteriors.iter().map(|other| posteriors[own] - other));
            out.push(PhoneGoodness { phone, goodness: posteriors[own] - best, features });
        }
        Ok(out)
    }

    fn log_posteriors(&self, probabilities: &DenseMatrix<f32>, frames: std::ops::Range<usize>) -> Vec<f32> {
        let count = frames.len() as f32;
        let mut sums = vec![0.0; self.phones];
        for t in frames {
            let mut of_phones = vec![0.0f32; self.phones];
            for (value, phones) in probabilities.row(t).iter().zip(&self.phones_of_pdf) {
                phones.iter().for_each(|&phone| of_phones[phone] += value);
            }
            for (phone, (sum, value)) in (0..).zip(sums.iter_mut().zip(of_phones)) {
                *sum += if self.skipped.contains(&phone) { SKIPPED } else { value.ln() };
            }
        }
        sums.iter_mut().for_each(|sum: &mut f32| *sum *= 1.0 / count);
        sums
    }
}
