//! Numbers of Gaussians for each pdf, by how much data it has (`gmm/model-common.cc`), and models that get them.

use crate::error::{Error, Result};
use crate::model::AmDiagGmm;
use crate::random::Rand;

/// Options for sharing Gaussians out among pdfs.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharing {
    /// The number of all Gaussians.
    pub target: usize,
    /// The exponent of occupancies.
    pub power: f32,
    /// Each Gaussian of a pdf needs this occupancy.
    pub min_count: f32,
}

/// Numbers of Gaussians.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// At least 1 for each pdf.
    pub counts: Vec<usize>,
    /// False if the data were too few for the requested number.
    pub reached: bool,
}

impl Sharing {
    /// Shares out Gaussians to pdfs with these occupancies. Each pdf begins with 1; then the pdf with the largest
    /// occ^power / count gets one more, until there are enough.
    pub fn targets(&self, occupancies: &[f32]) -> Targets {
        let mut queue = Queue::default();
        for (pdf, &occupancy) in occupancies.iter().enumerate() {
            let occupancy = f64::from(f64::from(occupancy).powf(self.power.into()) as f32);
            queue.push(Candidate { pdf, count: 1, occupancy });
        }
        let mut counts = vec![1; occupancies.len()];
        let mut total = counts.len();
        while total < self.target {
            let Some(mut top) = queue.pop() else { break };
            if top.occupancy == 0.0 {
                return Targets { counts, reached: false };
            }
            if (top.count + 1) as f32 * self.min_count >= occupancies[top.pdf] {
                // This pdf cannot take more Gaussians.
                top.occupancy = 0.0;
            } else {
                top.count += 1;
                counts[top.pdf] = top.count;
                total += 1;
            }
            queue.push(top);
        }
        Targets { counts, reached: total >= self.target }
    }
}

/// A pdf that may get more Gaussians.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    pdf: usize,
    count: usize,
    occupancy: f64,
}

impl Candidate {
    /// The one with the larger value gets the next Gaussian.
    fn value(&self) -> f64 {
        self.occupancy / (self.count as f64 + 1e-10)
    }
}

/// A binary heap with the largest value on top. Equal values have the same order as in `std::priority_queue` (GNU
/// library).
#[derive(Default)]
struct Queue(Vec<Candidate>);

impl Queue {
    fn push(&mut self, candidate: Candidate) {
        self.0.push(candidate);
        self.sift_up(self.0.len() - 1);
    }

    fn sift_up(&mut self, mut hole: usize) {
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if self.0[parent].value() >= self.0[hole].value() {
                break;
            }
            self.0.swap(parent, hole);
            hole = parent;
        }
    }

    /// Takes the top. The larger child (of equal children the right one) moves up repeatedly, down to a leaf. Then the
    /// last element moves up from there.
    fn pop(&mut self) -> Option<Candidate> {
        let last = self.0.pop()?;
        if self.0.is_empty() {
            return Some(last);
        }
        let (top, count) = (self.0[0], self.0.len());
        let mut hole = 0;
        while 2 * hole + 1 < count {
            let (left, right) = (2 * hole + 1, 2 * hole + 2);
            let take_left = right >= count || self.0[right].value() < self.0[left].value();
            let child = if take_left { left } else { right };
            self.0[hole] = self.0[child];
            hole = child;
        }
        self.0[hole] = last;
        self.sift_up(hole);
        Some(top)
    }
}

/// Results of changing the number of Gaussians of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Resized {
    pub before: usize,
    pub after: usize,
    /// False if the data were too few for the requested number.
    pub reached: bool,
}

impl AmDiagGmm {
    /// Splits Gaussians of pdfs that have fewer than their share of `sharing`. New Gaussians move apart by `perturb_factor`
    /// standard deviations. Fails for occupancies of another number of pdfs.
    pub fn mix_up(
        &mut self,
        occupancies: &[f32],
        sharing: &Sharing,
        perturb_factor: f32,
        rand: Rand<'_>,
    ) -> Result<Resized> {
        self.resize(occupancies, sharing, |pdf, target| {
            if pdf.num_gauss() < target { pdf.split(target, perturb_factor, rand) } else { Ok(()) }
        })
    }

    /// Merges Gaussians of pdfs that have more than their share of `sharing`. Fails for occupancies of another number of
    /// pdfs.
    pub fn mix_down(&mut self, occupancies: &[f32], sharing: &Sharing) -> Result<Resized> {
        self.resize(occupancies, sharing, |pdf, target| pdf.merge(target))
    }

    fn resize(
        &mut self,
        occupancies: &[f32],
        sharing: &Sharing,
        mut change: impl FnMut(&mut crate::gmm::DiagGmm, usize) -> Result<()>,
    ) -> Result<Resized> {
        if occupancies.len() != self.pdfs.len() {
            return Err(Error::data(format!(
                "Dimension of state occupancies {} does not match num-pdfs {}",
                occupancies.len(),
                self.pdfs.len()
            )));
        }
        let before = self.num_gauss();
        let Targets { counts, reached } = sharing.targets(occupancies);
        for (number, (pdf, target)) in self.pdfs.iter_mut().zip(counts).enumerate() {
            change(pdf, target).map_err(|e| Error::data(format!("pdf {number}: {e}")))?;
        }
        Ok(Resized { before, after: self.num_gauss(), reached })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_models::model;

    #[test]
    fn shares_follow_occupancies() {
        let sharing = Sharing { target: 9, power: 1.0, min_count: 1.0 };
        assert_eq!(sharing.targets(&[40.0, 20.0, 10.0]).counts, [5, 3, 1]);
        let sharing = Sharing { target: 9, power: 0.0, min_count: 1.0 };
        assert_eq!(sharing.targets(&[40.0, 20.0, 10.0]).counts, [3, 3, 3]);
        let sharing = Sharing { target: 100, power: 1.0, min_count: 10.0 };
        let targets = sharing.targets(&[41.0, 20.0, 0.0]);
        assert_eq!(targets, Targets { counts: vec![4, 1, 1], reached: false });
    }

    /// The order of (value, number) pairs with many equal values, as a C++ program's `std::priority_queue` returns
    /// them.
    #[test]
    fn equal_values() {
        let mut queue = Queue::default();
        for (pdf, occupancy) in [2.0, 1.0, 2.0, 2.0, 1.0, 2.0, 1.0, 1.0].into_iter().enumerate() {
            queue.push(Candidate { pdf, count: 1, occupancy });
        }
        let order: Vec<usize> = std::iter::from_fn(|| queue.pop()).map(|candidate| candidate.pdf).collect();
        assert_eq!(order, EXPECTED);
    }
    const EXPECTED: [usize; 8] = [0, 2, 5, 3, 7, 6, 4, 1];

    #[test]
    fn models() {
        let mut model = model(3, 2, 4, 1);
        let sharing = Sharing { target: 12, power: 0.5, min_count: 1.0 };
        let occupancies = [100.0, 25.0, 4.0];
        let mut rand = || 1000;
        let resized = model.mix_up(&occupancies, &sharing, 0.01, &mut rand).unwrap();
        assert_eq!(resized, Resized { before: 6, after: 12, reached: true });
        let counts = |model: &AmDiagGmm| model.pdfs().iter().map(|pdf| pdf.num_gauss()).collect::<Vec<_>>();
        assert_eq!(counts(&model)[2], 2);
        let sharing = Sharing { target: 5, ..sharing };
        assert_eq!(model.mix_down(&occupancies, &sharing).unwrap().after, 5);
        assert_eq!(counts(&model)[2], 1);
        assert!(model.mix_down(&[1.0], &sharing).unwrap_err().to_string().contains("occupancies 1"));
    }
}
