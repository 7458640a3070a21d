//! Factors: all pieces of paths that begin and end with a word, with their probabilities and times
//! (`CreateFactorTransducer` in `kws/kws-functions.cc`).

use kaldi_fst::{Algebra, Arc, Divisible, EPSILON, Fst, State, StateId};
use kaldi_numerics::log_sums::log_add;
use nnet3_decode::posterior::{ForwardBackward, forward_backward};
use nnet3_decode::{AnyLattice, CompactLattice};

use crate::clusters::clusters;
use crate::error::Result;

/// The weight of a factor in which probabilities add up: of two, the earlier beginning and the later end count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FactorWeight {
    pub log_probability: f64,
    pub begin: f64,
    pub end: f64,
}

impl Algebra for FactorWeight {
    fn one() -> FactorWeight {
        FactorWeight { log_probability: 0.0, begin: 0.0, end: 0.0 }
    }

    fn zero() -> FactorWeight {
        FactorWeight { log_probability: f64::NEG_INFINITY, begin: f64::INFINITY, end: f64::NEG_INFINITY }
    }

    fn is_zero(&self) -> bool {
        self.log_probability == f64::NEG_INFINITY
    }

    fn times(&self, other: &FactorWeight) -> FactorWeight {
        FactorWeight {
            log_probability: self.log_probability + other.log_probability,
            begin: self.begin + other.begin,
            end: self.end + other.end,
        }
    }

    fn plus(&self, other: &FactorWeight) -> FactorWeight {
        FactorWeight {
            log_probability: log_add(self.log_probability, other.log_probability),
            begin: self.begin.min(other.begin),
            end: self.end.max(other.end),
        }
    }
}

impl FactorWeight {
    fn parts(&self) -> [f64; 3] {
        [self.log_probability, self.begin, self.end]
    }
}

impl Divisible for FactorWeight {
    type Bits = [u64; 3];

    fn divide(&self, divisor: &FactorWeight) -> FactorWeight {
        FactorWeight {
            log_probability: self.log_probability - divisor.log_probability,
            begin: self.begin - divisor.begin,
            end: self.end - divisor.end,
        }
    }

    fn quantized(&self, delta: f32) -> FactorWeight {
        let delta = f64::from(delta);
        let [log_probability, begin, end] = self
            .parts()
            .map(|part| if part.is_finite() { (part / delta + 0.5).floor() * delta + 0.0 } else { part });
        FactorWeight { log_probability, begin, end }
    }

    fn bits(&self) -> [u64; 3] {
        self.parts().map(f64::to_bits)
    }

    fn is_near(&self, other: &FactorWeight, delta: f32) -> bool {
        self.parts().into_iter().zip(other.parts()).all(|(a, b)| (a - b).abs() <= f64::from(delta))
    }
}

/// Returns the acceptor of all factors of a sorted lattice, over words with clusters. A mark with the number of the utterance
/// follows the last word. Silences (arcs without a word) of more than `longest_silence` frames are not passed.
///
/// State 0 is the start. A state s of the lattice becomes two states: 1 + 2 s after a word, and 2 + 2 s after a silence.
pub fn factors(
    lattice: &CompactLattice,
    times: &[usize],
    utterance: i32,
    longest_silence: usize,
) -> Result<Fst<FactorWeight>> {
    let ForwardBackward { forward, backward, total } = forward_backward(lattice)?;
    let clusters = clusters(lattice, times);
    let count = lattice.states.len();
    let end = 1 + 2 * count as StateId;
    let mut out = Fst { start: Some(0), states: vec![State::default(); count * 2 + 2] };
    out.state_mut(end).final_weight = FactorWeight::one();
    for (s, state) in lattice.numbered() {
        let here = s as usize;
        if forward[here] == f64::NEG_INFINITY || backward[here] == f64::NEG_INFINITY {
            continue;
        }
        let (behind_word, behind_silence) = (1 + 2 * here, 2 + 2 * here);
        let mark = FactorWeight { log_probability: 0.0, begin: 0.0, end: times[here] as f64 };
        out.states[behind_word].arcs.push(Arc {
            ilabel: EPSILON,
            olabel: utterance,
            weight: mark,
            next: end,
        });
        for (arc, &cluster) in state.arcs.iter().zip(&clusters[here]) {
            let on = backward[arc.next as usize] - arc.weight.costs().cost();
            let weight = FactorWeight { log_probability: on - backward[here], begin: 0.0, end: 0.0 };
            if on == f64::NEG_INFINITY {
                continue;
            }
            let after_word = 1 + 2 * arc.next;
            if arc.ilabel == EPSILON {
                if times[arc.next as usize] - times[here] <= longest_silence {
                    let edge = Arc { ilabel: EPSILON, olabel: EPSILON, weight, next: after_word + 1 };
                    out.states[behind_word].arcs.push(edge);
                    out.states[behind_silence].arcs.push(edge);
                }
                continue;
            }
            let edge = Arc { ilabel: arc.ilabel, olabel: cluster, weight, next: after_word };
            out.states[behind_word].arcs.push(edge);
            out.states[behind_silence].arcs.push(edge);
            let first = FactorWeight {
                log_probability: forward[here] + on - total,
                begin: times[here] as f64,
                end: 0.0,
            };
            out.states[0].arcs.push(Arc { weight: first, ..edge });
        }
    }
    Ok(out)
}
