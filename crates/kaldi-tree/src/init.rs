//! The first Gaussians of a tree's leaves (`gmmbin/gmm-init-model.cc`).

use crate::clusterable::Clusterable;
use crate::error::{Error, Result};
use crate::gauss::Gauss;
use crate::stats::{Part, TreeStats, by_leaf, convert_context, describe, sum, sum_normalizers};
use crate::{Message, Report};
use kaldi_gmm::{AmDiagGmm, DiagGmm};
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

/// The Gaussian of statistics, with variances of at least `var_floor`.
fn gaussian(stats: &Gauss, var_floor: f32) -> Result<DiagGmm> {
    let count = stats.normalizer();
    if count.is_nan() || count <= 0.0 {
        return Err(Error::stats("a Gaussian needs statistics with a count above 0"));
    }
    let scale = (1.0 / f64::from(count)) as f32;
    let mean: Vec<f32> = stats.x().iter().map(|&x| x as f32 * scale).collect();
    let squares = stats.x2().iter().map(|&x2| x2 as f32 * scale);
    let inv_var: Vec<f32> = squares
        .zip(&mean)
        .map(|(square, mean)| {
            let var = square + -1.0 * mean * mean;
            1.0 / if var < var_floor { var_floor } else { var }
        })
        .collect();
    if let Some(value) = inv_var.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
        return Err(Error::stats(format!(
            "a Gaussian has the invalid inverse variance {value}; a larger variance floor may help"
        )));
    }
    Ok(DiagGmm::single(&mean, &inv_var)?)
}

/// Makes a Gaussian for each leaf. A leaf without statistics gets the Gaussian of all statistics.
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
        pdfs.push(gaussian(sum, var_floor)?);
        let count = sum.normalizer();
        if count < FEW_FRAMES {
            report(Message::Warning(format!(
                "Very small count for state {pdf}: {}; corresponding phone list: {}",
                kaldi_io::log::num(count.into()),
                phones(pdf)
            )));
        }
    }
    Ok(AmDiagGmm::new(pdfs)?)
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
    let all = gaussian(&all, var_floor)?;
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
    Ok(AmDiagGmm::new(pdfs)?)
}

/// Number of frames of each leaf.
pub fn occupancies(stats: &TreeStats<Gauss>, tree: &ContextDependency) -> Result<Vec<f32>> {
    Ok(by_pdf(stats, tree)?.iter().map(|part| sum_normalizers(part)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gaussian_of_vectors() {
        let mut stats = Gauss::new(2, 0.01);
        for frame in [[1.0, 5.0], [3.0, 5.0]] {
            stats.add_frame(&frame);
        }
        // Means 2 and 5, variances 1 and the floor.
        let gmm = gaussian(&stats, 0.5).unwrap();
        assert_eq!((gmm.dim(), gmm.num_gauss()), (2, 1));
        assert_eq!(
            (gmm.inv_vars().to_matrix().data, gmm.means_invvars().to_matrix().data),
            (vec![1.0, 2.0], vec![2.0, 10.0])
        );
        assert!(gaussian(&stats, 0.0).is_err());
        assert!(gaussian(&Gauss::new(2, 0.01), 0.5).is_err());
    }
}
