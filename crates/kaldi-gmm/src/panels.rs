//! Parameters of a mixture in the order in which vector registers read them.
//!
//! Eight Gaussians are side by side, element after element: each element of a frame is multiplied with eight parameters
//! at once, and no sum goes across a register.

use std::sync::OnceLock;

use crate::gmm::DiagGmm;
use crate::products::{LANES, Lanes, Order};

/// The parameters of all Gaussians whose sums have the order [`Order::OfFour`].
#[derive(Debug, Default)]
pub(crate) struct Panels {
    dim: usize,
    gconsts: Vec<Lanes>,
    /// For each eight Gaussians, `dim` columns of means over variances, then as many of inverse variances.
    columns: Vec<Lanes>,
}

/// Up to eight Gaussians.
pub(crate) struct Panel<'a> {
    pub gconsts: Lanes,
    /// Element d of each Gaussian's mean over variance.
    pub means: &'a [Lanes],
    /// Element d of each Gaussian's inverse variance.
    pub inv_vars: &'a [Lanes],
}

impl Panels {
    fn new(gmm: &DiagGmm) -> Panels {
        let (count, dim) = (gmm.num_gauss(), gmm.dim());
        let wanted: Vec<usize> = (0..count).filter(|&g| Order::of_row(g, count) == Order::OfFour).collect();
        let mut panels = Panels { dim, ..Panels::default() };
        for eight in wanted.chunks(LANES) {
            let gather = |value: &dyn Fn(usize) -> f32| {
                let mut lanes = Lanes::default();
                lanes.0.iter_mut().zip(eight).for_each(|(lane, &g)| *lane = value(g));
                lanes
            };
            panels.gconsts.push(gather(&|g| gmm.gconsts()[g]));
            for matrix in [gmm.means_invvars(), gmm.inv_vars()] {
                panels.columns.extend((0..dim).map(|d| gather(&|g| matrix.row(g)[d])));
            }
        }
        panels
    }

    /// The Gaussians in ascending order. The last panel may have four; zeros are in the place of the others.
    pub fn iter(&self) -> impl Iterator<Item = Panel<'_>> {
        let columns = self.columns.chunks_exact(2 * self.dim.max(1));
        self.gconsts.iter().zip(columns).map(|(&gconsts, columns)| {
            let (means, inv_vars) = columns.split_at(self.dim);
            Panel { gconsts, means, inv_vars }
        })
    }
}

/// The panels of a mixture once they have been needed. Copies of the mixture make their own.
#[derive(Debug, Default)]
pub(crate) struct PanelCell(OnceLock<Panels>);

impl PanelCell {
    pub fn of(&self, gmm: &DiagGmm) -> &Panels {
        self.0.get_or_init(|| Panels::new(gmm))
    }
}

impl Clone for PanelCell {
    fn clone(&self) -> PanelCell {
        PanelCell::default()
    }
}

/// Panels follow from the parameters: equal mixtures may differ in having them.
impl PartialEq for PanelCell {
    fn eq(&self, _: &PanelCell) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_models::mixture;

    #[test]
    fn groups_of_four() {
        for (count, panels) in [(3, 0), (4, 1), (11, 1), (12, 2), (17, 2)] {
            let gmm = mixture(count, 5, 3);
            let found = Panels::new(&gmm);
            assert_eq!(found.iter().count(), panels);
            for (p, panel) in found.iter().enumerate() {
                for lane in 0..LANES.min(count / 4 * 4 - LANES * p) {
                    let g = LANES * p + lane;
                    let row = |columns: &[Lanes]| -> Vec<f32> { columns.iter().map(|c| c.0[lane]).collect() };
                    assert_eq!(panel.gconsts.0[lane], gmm.gconsts()[g]);
                    assert_eq!(row(panel.means), gmm.means_invvars().row(g));
                    assert_eq!(row(panel.inv_vars), gmm.inv_vars().row(g));
                }
            }
        }
    }

    #[test]
    fn changes_and_copies_make_new_panels() {
        let mut gmm = mixture(8, 3, 4);
        let first = |gmm: &DiagGmm| gmm.panels().iter().next().map(|panel| panel.gconsts.0[0]);
        assert_eq!(first(&gmm), Some(gmm.gconsts()[0]));
        let copy = gmm.clone();
        assert_eq!(copy, gmm);
        gmm.scale_weights(2.0).unwrap();
        assert_eq!(first(&gmm), Some(gmm.gconsts()[0]));
        assert_ne!(first(&gmm), first(&copy));
    }
}
