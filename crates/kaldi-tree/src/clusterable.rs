//! Interface of clustering: statistics that can be added and have a likelihood.

use kaldi_io::KaldiObject;

/// Statistics of some data. All that are clustered together must [fit](Clusterable::fits) each other.
pub trait Clusterable: KaldiObject + Clone {
    /// Returns the objective function of the data (for example a log-likelihood) if one model describes all data.
    fn objf(&self) -> f32;
    /// Divisor that makes objective functions comparable: usually the number of frames.
    fn normalizer(&self) -> f32;
    fn set_zero(&mut self);
    fn add(&mut self, other: &Self);
    fn sub(&mut self, other: &Self);
    /// True if both can be added.
    fn fits(&self, other: &Self) -> bool;

    /// The objective function of both together.
    fn objf_plus(&self, other: &Self) -> f32 {
        let mut both = self.clone();
        both.add(other);
        both.objf()
    }

    /// The objective function of these data without the others.
    fn objf_minus(&self, other: &Self) -> f32 {
        let mut rest = self.clone();
        rest.sub(other);
        rest.objf()
    }

    /// Loss of the objective function if one model describes both; never negative. The arguments include the objective
    /// function of each.
    fn distance(&self, objf: f32, other: &Self, other_objf: f32) -> f32 {
        let loss = objf + other_objf - self.objf_plus(other);
        if loss < 0.0 { 0.0 } else { loss }
    }
}
