//! The first Gaussians of a tree's leaves (`gmmbin/gmm-init-model.cc`).

use crate::clusterable::Clusterable;
use crate::error::{Error, Result};
use crate::gauss::Gauss;
use crate::gmm::{AmDiagGmm, DiagGmm};
use crate::stats::{Part, TreeStats, by_leaf, convert_context, describe, sum, sum_normalizers};
use crate::{Message, Report};
use kaldi_hmm::{ContextDependency, TransitionModel};
use std::collections::BTreeMap;

/// Leaves with less data are reported.
const FEW_FRAMES: f32 = 100.0;

/// Statistics by leaf: an element for each.
fn by_pdf<'a>(stats: &'a TreeStats<Gauss>, tree: &ContextDependency) -> Result<Vec<Part<'a, Gauss>>> {
    let mut parts = by_leaf(&stats.all(), tree.to_pdf())?;
    parts.resize_with(tree.num_pdfs(), Vec::new);
    Ok(parts)
}

/// A Gaussian for each leaf; a leaf without statistics gets that of all of them.
pub fn from_stats(
    stats: &TreeStats<Gauss>,
    tree: &ContextDependency,
    model: &TransitionModel,
    var_floor: f32,
    report: Report,
) -> Result<AmDiagGmm> {
    let parts = by_pdf(stats, tree)?;
    let phones_by_pdf = model.phones_by_pdf();
    let phones = |pdf: usize| -> String {
        phones_by_pdf.get(pdf).into_iter().flatten().map(|phone| format!("{phone} ")).collect()
    };
    for pdf in (0..parts.len()).filter(|&pdf| parts[pdf].is_empty()) {
        let phones = phones(pdf);
        report(Message::Warning(format!(
            "Tree has pdf-id {pdf} with no stats; corresponding phone list: {phones}"
        )));
    }
    let sums: Vec<Option<Gauss>> = parts.iter().map(|part| sum(part)).collect();
    let all = crate::cluster::sum(sums.iter().flatten())
        .ok_or_else(|| Error::stats("there are no statistics to make Gaussians of"))?;
    let mut pdfs = Vec::new();
    for (pdf, sum) in sums.iter().enumerate() {
        let sum = sum.as_ref().unwrap_or(&all);
        pdfs.push(DiagGmm::from_stats(sum, var_floor)?);
        let count = sum.normalizer();
        if count < FEW_FRAMES {
            report(Message::Warning(format!(
                "Very small count for state {pdf}: {}; corresponding phone list: {}",
                kaldi_io::log::num(count.into()),
                phones(pdf)
            )));
        }
    }
    AmDiagGmm::new(pdfs)
}

/// Gives each leaf the mixture of that leaf of another model with which it shares most data. A leaf without
/// statistics gets the Gaussian of all of them.
pub fn from_other_model(
    stats: &TreeStats<Gauss>,
    tree: &ContextDependency,
    old_tree: &ContextDependency,
    old_model: &AmDiagGmm,
    var_floor: f32,
    report: Report,
) -> Result<AmDiagGmm> {
    let context = |tree: &ContextDependency| (tree.context_width(), tree.central_position());
    let (new_context, old_context) = (context(tree), context(old_tree));
    if old_context.0 > new_context.0 {
        return Err(Error::stats("the old system has wider context, so statistics cannot be converted"));
    }
    let after = |context: (usize, usize)| context.0 - context.1 - 1;
    if old_context.1 > new_context.1 {
        report(Message::Warning(format!(
            "Cannot convert stats to have more left-context: {} > {}",
            old_context.1, new_context.1
        )));
    }
    if after(old_context) > after(new_context) {
        report(Message::Warning(format!(
            "Cannot convert stats to have more right-context: {} > {}",
            after(old_context),
            after(new_context)
        )));
    }
    let parts = by_pdf(stats, tree)?;
    for pdf in (0..parts.len()).filter(|&pdf| parts[pdf].is_empty()) {
        report(Message::Warning(format!("Leaf {pdf} of new tree has no stats.")));
    }
    let all = sum(&stats.all()).ok_or_else(|| Error::stats("there are no statistics"))?;
    let all = DiagGmm::from_stats(&all, var_floor)?;
    let mut pdfs = Vec::new();
    for (pdf, part) in parts.iter().enumerate() {
        let mut counts: BTreeMap<i32, f32> = BTreeMap::new();
        for (event, stats) in part {
            let event = convert_context(event, new_context, old_context);
            let old_pdf = old_tree.to_pdf().map(&event).ok_or_else(|| {
                Error::stats(format!("the old tree has no leaf for the event {}", describe(&event)))
            })?;
            *counts.entry(old_pdf).or_insert(0.0) += stats.normalizer();
        }
        let (mut most, mut nearest) = (0.0, None);
        for (old_pdf, count) in counts {
            if count > most {
                (most, nearest) = (count, Some(old_pdf));
            }
        }
        pdfs.push(match nearest {
            Some(old_pdf) => old_model.pdfs().get(old_pdf as usize).cloned().ok_or_else(|| {
                Error::stats(format!(
                    "the old tree has leaf {old_pdf}, but the old model has {} pdfs",
                    old_model.pdfs().len()
                ))
            })?,
            None => {
                report(Message::Warning(format!(
                    "Leaf {pdf} of new tree being initialized with globally averaged stats."
                )));
                all.clone()
            }
        });
    }
    AmDiagGmm::new(pdfs)
}

/// How many frames each leaf has.
pub fn occupancies(stats: &TreeStats<Gauss>, tree: &ContextDependency) -> Result<Vec<f32>> {
    Ok(by_pdf(stats, tree)?.iter().map(|part| sum_normalizers(part)).collect())
}

/// Mean and inverse variance of all frames of features that have been added.
pub struct GlobalMean {
    count: f64,
    sum: Vec<f64>,
    sum_of_squares: Vec<f64>,
}

impl GlobalMean {
    pub fn new(dim: usize) -> GlobalMean {
        GlobalMean { count: 0.0, sum: vec![0.0; dim], sum_of_squares: vec![0.0; dim] }
    }

    /// An error if the frame's dimension is another one.
    pub fn add(&mut self, frame: &[f64]) -> Result<()> {
        if frame.len() != self.sum.len() {
            return Err(Error::stats(format!(
                "the features have {} columns, expected {}",
                frame.len(),
                self.sum.len()
            )));
        }
        self.count += 1.0;
        for ((sum, squares), value) in self.sum.iter_mut().zip(&mut self.sum_of_squares).zip(frame) {
            *squares += value * value;
            *sum += value;
        }
        Ok(())
    }

    /// A Gaussian with that mean and variance. An error if there were no frames, or an element never changed.
    pub fn gaussian(self) -> Result<DiagGmm> {
        if self.count == 0.0 {
            return Err(Error::stats("no features were seen."));
        }
        let scale = 1.0 / self.count;
        let mean: Vec<f64> = self.sum.iter().map(|sum| sum * scale).collect();
        let mut inv_var = Vec::new();
        for (d, (square, mean)) in self.sum_of_squares.iter().zip(&mean).enumerate() {
            let var = square * scale - mean * mean;
            if var.is_nan() || var <= 0.0 {
                return Err(Error::stats(format!("bad variance: {var} in dimension {d} of the features")));
            }
            inv_var.push((1.0 / var) as f32);
        }
        DiagGmm::single(&mean.iter().map(|&mean| mean as f32).collect::<Vec<_>>(), &inv_var)
    }
}
