//! Description of examples: names, dimensions and indexes, not values.

use kaldi_io::GeneralMatrix;
use nnet3_chain::{NnetChainExample, NnetChainSupervision};
use nnet3_core::Index;
use nnet3_discriminative::{NnetDiscriminativeExample, NnetDiscriminativeSupervision};
use nnet3_train::{NnetExample, NnetIo};
use serde_json::{Value, json};

use super::{Fields, fields, single};

/// A kind of example that can be listed.
pub trait Listed {
    /// The fields of its line, besides the key.
    fn listing(&self) -> Fields;
}

impl Listed for NnetExample {
    fn listing(&self) -> Fields {
        fields(json!({"ios": self.ios.iter().map(io).collect::<Vec<_>>()}))
    }
}

impl Listed for NnetChainExample {
    fn listing(&self) -> Fields {
        fields(json!({
            "ios": self.inputs.iter().map(io).collect::<Vec<_>>(),
            "supervisions": self.outputs.iter().map(supervision).collect::<Vec<_>>(),
        }))
    }
}

impl Listed for NnetDiscriminativeExample {
    fn listing(&self) -> Fields {
        fields(json!({
            "ios": self.inputs.iter().map(io).collect::<Vec<_>>(),
            "supervisions": self.outputs.iter().map(discriminative).collect::<Vec<_>>(),
        }))
    }
}

fn io(io: &NnetIo) -> Value {
    let form = match &io.features {
        GeneralMatrix::Full(_) => "full",
        GeneralMatrix::Compressed(_) => "compressed",
        GeneralMatrix::Sparse(_) => "sparse",
    };
    json!({
        "name": io.name,
        "rows": io.features.rows(),
        "dim": io.features.cols(),
        "form": form,
        "indexes": runs(&io.indexes),
    })
}

fn supervision(output: &NnetChainSupervision) -> Value {
    let supervision = &output.supervision;
    let fst = |fst: &kaldi_fst::Fst| json!({"states": fst.states.len(), "arcs": fst.num_arcs()});
    let weights = &output.deriv_weights;
    json!({
        "name": output.name,
        "rows": output.indexes.len(),
        "sequences": supervision.num_sequences,
        "frames-per-sequence": supervision.frames_per_sequence,
        "label-dim": supervision.label_dim,
        "weight": single(supervision.weight),
        "end-to-end": matches!(supervision.graph, nnet3_chain::Graph::EndToEnd(_)),
        "fsts": supervision.fsts().iter().map(fst).collect::<Vec<_>>(),
        "deriv-weight-sum": sum(weights),
        "indexes": runs(&output.indexes),
    })
}

fn discriminative(output: &NnetDiscriminativeSupervision) -> Value {
    let supervision = &output.supervision;
    let weights = &output.deriv_weights;
    json!({
        "name": output.name,
        "rows": output.indexes.len(),
        "sequences": supervision.num_sequences,
        "frames-per-sequence": supervision.frames_per_sequence,
        "weight": single(supervision.weight),
        "lattice": {"states": supervision.lattice.states.len(), "arcs": supervision.lattice.num_arcs()},
        "deriv-weight-sum": sum(weights),
        "indexes": runs(&output.indexes),
    })
}

/// The sum of weights. `None` if there are none.
fn sum(weights: &[f32]) -> Option<f64> {
    (!weights.is_empty()).then(|| weights.iter().map(|&w| f64::from(w)).sum())
}

/// Rows whose indexes go on by the same step: the first index, the step, and how many there are. Indexes are [n, t, x].
fn runs(indexes: &[Index]) -> Vec<Value> {
    let difference =
        |a: &Index, b: &Index| [(a.n, b.n), (a.t, b.t), (a.x, b.x)].map(|(a, b)| i64::from(b) - i64::from(a));
    let (mut out, mut first) = (Vec::new(), 0);
    while let Some(index) = indexes.get(first) {
        let step = indexes.get(first + 1).map(|second| difference(index, second));
        let rest = &indexes[first..];
        let same = rest.windows(2).take_while(|pair| Some(difference(&pair[0], &pair[1])) == step).count();
        let step = step.unwrap_or([0; 3]);
        out.push(json!({"first": [index.n, index.t, index.x], "step": step, "count": same + 1}));
        first += same + 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexes(all: &[[i32; 3]]) -> Vec<Index> {
        all.iter().map(|&[n, t, x]| Index::new(n, t, x)).collect()
    }

    /// Expands the runs, row by row.
    fn spelled_out(runs: &[Value]) -> Vec<[i64; 3]> {
        let triple = |value: &Value| [0, 1, 2].map(|i| value[i].as_i64().unwrap());
        let rows = |run: &Value| {
            let (first, step) = (triple(&run["first"]), triple(&run["step"]));
            let row = move |k: i64| [0, 1, 2].map(|i| first[i] + k * step[i]);
            (0..run["count"].as_i64().unwrap()).map(row).collect::<Vec<_>>()
        };
        runs.iter().flat_map(rows).collect()
    }

    #[test]
    fn runs_of_indexes() {
        assert!(runs(&[]).is_empty());
        let one = runs(&indexes(&[[3, -2, 1]]));
        assert_eq!(one, [json!({"first": [3, -2, 1], "step": [0, 0, 0], "count": 1})]);
        // Two sequences, one after the other: a run for each.
        let two = runs(&indexes(&[[0, -1, 0], [0, 0, 0], [0, 1, 0], [1, -1, 0], [1, 0, 0], [1, 1, 0]]));
        assert_eq!(two.len(), 2);
        assert_eq!(two[1], json!({"first": [1, -1, 0], "step": [0, 1, 0], "count": 3}));
        let mut random = fastrand_like(7);
        for length in 0..40 {
            let rows: Vec<[i32; 3]> = (0..length).map(|_| [0, 1, 2].map(|_| random() % 2)).collect();
            let again = spelled_out(&runs(&indexes(&rows)));
            assert_eq!(again, rows.iter().map(|row| row.map(i64::from)).collect::<Vec<_>>());
        }
    }

    /// A small linear congruential generator.
    fn fastrand_like(mut state: u32) -> impl FnMut() -> i32 {
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 20) as i32
        }
    }
}
