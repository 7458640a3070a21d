//! The steps after a search: from the lattice of all its tokens to what users get.

use kaldi_fst::Fst;
use kaldi_hmm::TransitionModel;

use crate::determinize::{PhoneOptions, Report, determinize_phones};
use crate::error::{Error, Result};
use crate::lattice::{AnyLattice, CompactLattice, Lattice, Scale, scale_checked};
use crate::path::{self, Linear};

/// Options of the steps after a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ending {
    /// Paths that cost this much more than the best are left out of a determinized lattice.
    pub lattice_beam: f32,
    /// Without it, the lattice stays as the search leaves it.
    pub determinization: Option<PhoneOptions>,
    /// The scale of the log-likelihoods in the search. Costs of the result are divided by it; 0 leaves them as they are.
    pub acoustic_scale: f32,
}

/// The results of a search.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The best path, with costs as in the search.
    pub best: Linear,
    pub lattice: EndedLattice,
    /// Events of the determinization.
    pub report: Option<Report>,
}

/// A lattice in one of both forms.
#[derive(Debug, Clone)]
pub enum EndedLattice {
    Compact(CompactLattice),
    Raw(Lattice),
}

impl Ending {
    /// Finds the best path, determinizes the lattice if that is wanted, and undoes the acoustic scale.
    pub fn end(&self, model: &TransitionModel, mut raw: Lattice) -> Result<Ended> {
        let best = path::read_linear(&path::best_path(&raw))?;
        match &self.determinization {
            Some(options) => {
                let (mut lattice, report) =
                    determinize_phones(model, &mut raw, self.lattice_beam.into(), options)?;
                self.unscale(&mut lattice)?;
                Ok(Ended { best, lattice: EndedLattice::Compact(lattice), report: Some(report) })
            }
            None => {
                self.unscale(&mut raw)?;
                Ok(Ended { best, lattice: EndedLattice::Raw(raw), report: None })
            }
        }
    }

    /// Does the same for a lattice that was determinized during the search.
    pub fn end_determinized(&self, mut lattice: CompactLattice, report: Report) -> Result<Ended> {
        check_not_empty(&lattice)?;
        let best = path::best_linear(&lattice)?;
        self.unscale(&mut lattice)?;
        Ok(Ended { best, lattice: EndedLattice::Compact(lattice), report: Some(report) })
    }

    /// Undoes the acoustic scale. It is an error if the lattice is empty, or has invalid costs.
    pub fn unscale<W: AnyLattice>(&self, lattice: &mut Fst<W>) -> Result<()> {
        check_not_empty(lattice)?;
        let scale = match self.acoustic_scale {
            0.0 => Scale::NONE,
            scale => Scale::new(1.0, 1.0 / f64::from(scale)),
        };
        scale_checked(lattice, scale)
    }
}

/// Refuses an empty lattice. Sums of costs have 24 bits, so with log-likelihoods as large as 10⁸ no path stays within a
/// beam.
fn check_not_empty<W: AnyLattice>(lattice: &Fst<W>) -> Result<()> {
    if lattice.start.is_some() {
        return Ok(());
    }
    let reason = "its lattice is empty (check the log-likelihoods, scales and beams)";
    Err(Error::Data(reason.to_owned()))
}
