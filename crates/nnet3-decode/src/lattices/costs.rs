//! The acoustic costs of a lattice by frame and transition-id: restores those that determinization has pushed to other
//! arcs.

use std::collections::HashMap;

use kaldi_fst::{Algebra, EPSILON};

use crate::error::{Error, Result};
use crate::lattice::Lattice;
use crate::order;
use crate::times::state_times;

/// The mean acoustic cost of a transition-id in a frame. (All arcs with it should have the same.)
pub struct AcousticCosts(HashMap<(usize, i32), (f32, u32)>);

impl AcousticCosts {
    pub fn of(lattice: &Lattice) -> Result<AcousticCosts> {
        let mut lattice = lattice.clone();
        order::sort(&mut lattice)?;
        let (times, _) = state_times(&lattice)?;
        let mut costs: HashMap<(usize, i32), (f32, u32)> = HashMap::new();
        for (state, time) in lattice.states.iter().zip(times) {
            let Some(time) = time else { continue };
            for arc in state.arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
                let (sum, count) = costs.entry((time, arc.ilabel)).or_default();
                *sum += arc.weight.acoustic;
                *count += 1;
            }
        }
        Ok(AcousticCosts(costs))
    }

    /// Sorts the lattice, and gives each arc the cost of its frame and transition-id. Arcs without one, and ends, get
    /// cost 0.
    pub fn put_into(&self, lattice: &mut Lattice) -> Result<()> {
        order::sort(lattice)?;
        let (times, _) = state_times(lattice)?;
        for (state, time) in lattice.states.iter_mut().zip(times) {
            let Some(time) = time else { continue };
            for arc in &mut state.arcs {
                let known = self.0.get(&(time, arc.ilabel));
                arc.weight.acoustic = match known {
                    _ if arc.ilabel == EPSILON => 0.0,
                    Some((sum, count)) => sum / *count as f32,
                    None => {
                        let id = arc.ilabel;
                        return Err(Error::Data(format!(
                            "the cost of transition-id {id} in frame {time} is unknown"
                        )));
                    }
                };
            }
            if !state.final_weight.is_zero() {
                state.final_weight.acoustic = 0.0;
            }
        }
        Ok(())
    }
}
