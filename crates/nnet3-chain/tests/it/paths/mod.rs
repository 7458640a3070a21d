//! Comparison of FSTs with possibly different states and weights, by their paths.

use kaldi_fst::Fst;

/// The log-sum over all paths of `frames` labels, of random scores less costs.
pub fn log_sum(fst: &Fst, frames: usize, seed: usize) -> f64 {
    let score = |t: usize, label: i32| (1.7 * t as f64 + 3.1 * f64::from(label) + seed as f64).sin() * 2.0;
    let add = |a: f64, b: f64| {
        let (more, less) = if a > b { (a, b) } else { (b, a) };
        if less == f64::NEG_INFINITY { more } else { more + (less - more).exp().ln_1p() }
    };
    let mut now = vec![f64::NEG_INFINITY; fst.states.len()];
    now[fst.start.unwrap() as usize] = 0.0;
    for t in 0..frames {
        let mut next = vec![f64::NEG_INFINITY; now.len()];
        for (state, here) in fst.states.iter().zip(&now) {
            for arc in &state.arcs {
                assert!(arc.ilabel > 0 && arc.ilabel == arc.olabel);
                let to = &mut next[arc.next as usize];
                *to = add(*to, here + score(t, arc.ilabel) - f64::from(arc.weight));
            }
        }
        now = next;
    }
    let ends = fst.states.iter().zip(&now).map(|(state, here)| here - f64::from(state.final_weight));
    ends.fold(f64::NEG_INFINITY, add)
}
