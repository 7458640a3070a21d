//! Updates of models and transforms from sums.

use std::collections::BTreeSet;

use kaldi_feat::compose::compose;
use kaldi_feat::lda::LdaStats;
use kaldi_feat::lda_estimate::{Directions, LdaOptions, lda};
use kaldi_gmm::fmllr_update::{FmllrKind, FmllrOptions};
use kaldi_gmm::sharing::Sharing;
use kaldi_gmm::update::UpdateOptions;
use kaldi_gmm::{AmDiagGmm, ModelStats, Parts};
use kaldi_hmm::update::{MleOptions, TransitionCounts};
use kaldi_io::{DenseMatrix, SparseMatrix, SparseVector};

use crate::error::Result;
use crate::features::{FeatureKind, Front};
use crate::network::Model;
use crate::observer::{Event, Observer};
use crate::passes::{Alignments, FrameWeights, Passes, spoken};
use crate::random::Numbers;

/// Part of a standard deviation by which halves of a Gaussian move apart.
const PERTURB_FACTOR: f32 = 0.01;
/// Occupancy that each Gaussian of a pdf needs, when Gaussians are split.
const SPLIT_COUNT: f32 = 20.0;
/// Iterations of a speaker's transform.
const FMLLR_ITERATIONS: usize = 40;

/// Settings of an update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update {
    /// Gaussians with less occupancy stay as they are, or are removed.
    pub min_occupancy: f32,
    pub remove: bool,
    /// The number of Gaussians after the update.
    pub gaussians: Option<usize>,
    pub power: f32,
}

/// Replaces a model by its estimate from sums. Returns the number of Gaussians.
///
/// # Errors
/// The sums are those of another model.
pub fn update(model: &mut Model, stats: &ModelStats, settings: &Update) -> Result<usize> {
    let counts = TransitionCounts::from_values(&model.transitions, stats.transitions.clone())?;
    model.transitions.update(&counts, &MleOptions::default())?;
    update_gmms(&mut model.gmms, stats, settings)?;
    if let Some(gaussians) = settings.gaussians {
        split(&mut model.gmms, &stats.occupancies(), gaussians, settings.power)?;
    }
    Ok(model.gmms.num_gauss())
}

/// Replaces mixtures by their estimates from sums.
///
/// # Errors
/// The sums are those of another model.
pub fn update_gmms(gmms: &mut AmDiagGmm, stats: &ModelStats, settings: &Update) -> Result<()> {
    let options = UpdateOptions {
        min_gaussian_weight: 1e-5,
        min_gaussian_occupancy: settings.min_occupancy,
        min_variance: 0.001,
        remove_low_count_gaussians: settings.remove,
    };
    gmms.update(stats, Parts::ALL, &options, &mut |_| ())?;
    Ok(())
}

/// Splits Gaussians up to a number.
///
/// # Errors
/// There is another number of occupancies than of pdfs.
pub fn split(gmms: &mut AmDiagGmm, occupancies: &[f32], target: usize, power: f32) -> Result<()> {
    let mut numbers = Numbers::new(0);
    let sharing = Sharing { target, power, min_count: SPLIT_COUNT };
    gmms.mix_up(occupancies, &sharing, PERTURB_FACTOR, &mut || numbers.draw())?;
    Ok(())
}

/// Multiplies the weights of the Gaussians of a phone's pdfs.
///
/// # Errors
/// The model has no mixture for one of its pdfs.
pub fn boosted(model: &Model, gmms: &AmDiagGmm, phone: i32, factor: f32) -> Result<AmDiagGmm> {
    let mut gmms = gmms.clone();
    if factor != 1.0 {
        let phones = model.transitions.phones_by_pdf();
        let of_phone = (0..).zip(&phones).filter(|(_, phones)| phones.contains(&phone));
        let pdfs: BTreeSet<i32> = of_phone.map(|(pdf, _)| pdf).collect();
        gmms.boost(&pdfs, factor)?;
    }
    Ok(gmms)
}

/// Estimates the LDA of spliced frames whose classes are the pdfs of an alignment; silence is left out. Returns it, and the
/// matrix of all directions.
///
/// # Errors
/// There are too few frames.
pub fn lda_of_splices(
    passes: &Passes,
    front: &Front,
    model: &Model,
    alignments: &Alignments,
    silence: &[i32],
    (left, right): (usize, usize),
    dim: usize,
) -> Result<(DenseMatrix<f32>, DenseMatrix<f32>)> {
    let spliced = passes.corpus.dim * (left + 1 + right);
    let classes = model.transitions.num_pdfs();
    let mut sum = LdaStats::new(classes, spliced);
    let of_members = |members: Vec<usize>| {
        let mut stats = LdaStats::new(classes, spliced);
        for place in members {
            let Some(ids) = &alignments[place] else { continue };
            let features = kaldi_feat::frames::splice(&front.cepstra(place)?, left, right)?;
            let mut rows = vec![SparseVector::new(classes, Vec::new())?; features.rows];
            for (t, id) in spoken(&model.transitions, ids, silence)? {
                rows[t] = SparseVector::new(classes, vec![(model.transitions.pdf(id), 1.0)])?;
            }
            stats.add(&features, &SparseMatrix { rows }.into(), |weight| weight)?;
        }
        Ok(stats)
    };
    passes.sum(of_members, |stats| Ok(sum.merge(stats)?))?;
    let dim = dim.min(spliced).min(classes.saturating_sub(1)).max(1);
    let options = LdaOptions { dim, allow_large_dim: false, remove_offset: false, within_class_factor: 1.0 };
    Ok(lda(&Directions::new(&sum)?, classes, &options)?)
}

/// Estimates a maximum-likelihood linear transform, and applies it to the model's means and to the features.
///
/// # Errors
/// The statistics are singular.
pub fn mllt(
    passes: &Passes,
    front: &mut Front,
    model: &mut Model,
    alignments: &Alignments,
    silence: &[i32],
    observer: &mut dyn Observer,
) -> Result<()> {
    // Large corpora do with a part of the posteriors.
    let rand_prune = if passes.corpus.frames() > 200_000 { 4.0 } else { 1.0 };
    let stats = passes.mllt_stats(front, model, alignments, silence, rand_prune)?;
    let estimate = match stats.estimate(&mut |_, _| ()) {
        Ok(estimate) => estimate,
        Err(error) => {
            observer.event(Event::Warning(format!("MLLT is left out: {error}")));
            return Ok(());
        }
    };
    model.gmms.transform_means(&estimate.matrix)?;
    if let FeatureKind::Spliced { left, right, lda } = front.kind() {
        let lda = compose(&estimate.matrix, lda, false)?;
        front.set_kind(FeatureKind::Spliced { left: *left, right: *right, lda });
    }
    observer.event(Event::Message(format!(
        "MLLT: {:.3} per frame, log determinant {:.3}",
        estimate.improvement, estimate.log_determinant
    )));
    Ok(())
}

/// Settings of speakers' transforms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FmllrSettings {
    /// Frames that a speaker must have.
    pub least: f64,
    /// Virtual frames that draw a transform towards the identity. Pdfs have them in proportion to their numbers of Gaussians.
    pub prior: f64,
}

/// Estimates a transform of each speaker. It is applied after the transforms of `front`, or replaces them if they are `None`. Returns how
/// many frames each speaker has, without the virtual ones.
///
/// # Errors
/// Features or alignments do not fit the model.
pub fn fmllr(
    passes: &Passes,
    front: &mut Front,
    models: (&Model, &AmDiagGmm),
    (alignments, weights): (&Alignments, Option<&FrameWeights>),
    silence: &[i32],
    settings: FmllrSettings,
    observer: &mut dyn Observer,
) -> Result<Vec<f64>> {
    let options =
        FmllrOptions { kind: FmllrKind::Full, min_count: settings.least, iterations: FMLLR_ITERATIONS };
    let occupancies = if settings.prior > 0.0 { occupancies(models.0, silence) } else { Vec::new() };
    let mut transforms = front.transforms().to_vec();
    let mut frames = vec![0.0; transforms.len()];
    let (mut without, mut improvement, mut count) = (0, 0.0, 0.0);
    passes.fmllr_stats(front, models, (alignments, weights), silence, |speaker, mut stats| {
        frames[speaker] = stats.count();
        if settings.prior > 0.0 && stats.count() > settings.least {
            stats.add_prior(&models.0.gmms, &occupancies, settings.prior)?;
        }
        let estimate = match stats.estimate(&options) {
            Ok(estimate) => estimate,
            Err(error) => {
                let name = &passes.corpus.speakers[speaker];
                observer.event(Event::Warning(format!("speaker {name} gets no transform: {error}")));
                without += 1;
                return Ok(());
            }
        };
        count += stats.count();
        improvement += estimate.improvement;
        if estimate.outcome == kaldi_gmm::fmllr_update::Outcome::Estimated {
            transforms[speaker] = Some(match &front.transforms()[speaker] {
                Some(before) => compose(&estimate.transform, before, true)?,
                None => estimate.transform,
            });
        } else {
            without += 1;
        }
        Ok(())
    })?;
    front.set_transforms(transforms);
    let speakers = passes.corpus.speakers.len();
    let improvement = if count > 0.0 { improvement / count } else { 0.0 };
    observer.event(Event::Transforms { speakers, without, improvement });
    Ok(frames)
}

/// The number of Gaussians of each pdf, and 0 for pdfs of silence. (Training splits Gaussians by occupancies.)
fn occupancies(model: &Model, silence: &[i32]) -> Vec<f64> {
    let phones = model.transitions.phones_by_pdf();
    let spoken = phones.iter().map(|phones| phones.iter().any(|phone| !silence.contains(phone)));
    let gaussians = model.gmms.pdfs().iter().map(|gmm| gmm.num_gauss() as f64);
    gaussians.zip(spoken).map(|(gaussians, spoken)| if spoken { gaussians } else { 0.0 }).collect()
}
