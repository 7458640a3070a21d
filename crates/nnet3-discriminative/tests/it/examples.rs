//! Examples in files, merging, and what is refused.

use kaldi_io::holder::Holder;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter};
use nnet3_core::{CRand, Index};
use nnet3_decode::{Lattice, LatticeWeight};
use nnet3_discriminative::{
    DiscriminativeExampleHolder, NnetDiscriminativeExample, NnetDiscriminativeSupervision, Supervision,
};
use nnet3_train::copy::{Copier, CopyExample, CopyOptions};
use nnet3_train::{Example, NnetIo};

use crate::lattice;

fn supervision() -> Supervision {
    let arcs = [(0, 1, 3, 0.25, 1.0), (0, 1, 4, 0.5, 2.0), (1, 2, 5, 0.0, -1.0)];
    Supervision::new(vec![3, 5], lattice(&arcs, 2), 1.0).unwrap()
}

fn output() -> NnetDiscriminativeSupervision {
    NnetDiscriminativeSupervision::for_sequence("output", supervision(), 3, vec![1.0, 0.5])
}

fn example() -> NnetDiscriminativeExample {
    let features = DenseMatrix { rows: 8, cols: 1, data: (0..8).map(|v| v as f32).collect() };
    NnetDiscriminativeExample {
        inputs: vec![
            NnetIo::new("input", features.into(), -2, 1),
            NnetIo::new("ivector", DenseMatrix::new(1, 2).into(), 0, 1),
        ],
        outputs: vec![output()],
    }
}

fn written(value: &impl KaldiObject, binary: bool) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    value.write(&mut w).unwrap();
    w.into_bytes()
}

#[test]
fn the_text_form() {
    let text = String::from_utf8(written(&output(), false)).unwrap();
    assert_eq!(
        text,
        "<NnetDiscriminativeSup> output <I1V> 2 <I1> 0 0 0 <I1> 0 3 0 <DiscriminativeSupervision> <Weight> 1 \
         <NumSequences> 1 <FramesPerSeq> 2 <NumAli> [ 3 5 ]\n<DenLat> \n0\t1\t3\t3\t0.25,1\n0\t1\t4\t4\t0.5,2\n\
         1\t2\t5\t5\t0,-1\n2\t0.25,0.5\n\n</DiscriminativeSupervision> <DW>  [ 1 0.5 ]\n</NnetDiscriminativeSup> "
    );
}

#[test]
fn both_forms_of_everything() {
    for binary in [true, false] {
        let mut w = KaldiWriter::in_memory(binary);
        DiscriminativeExampleHolder::write(&mut w, &example()).unwrap();
        let bytes = w.into_bytes();
        let read = DiscriminativeExampleHolder::read(&mut KaldiReader::from_bytes("input", bytes.clone()));
        let mut expected = example();
        if binary {
            // Half is 128 of 255.
            expected.outputs[0].deriv_weights[1] = 128.0 / 255.0;
        }
        assert_eq!(read.unwrap(), expected);
        // Every beginning of it is an error.
        for length in 0..bytes.len() - 1 {
            let mut r = KaldiReader::from_bytes("input", bytes[..length].to_vec());
            assert!(DiscriminativeExampleHolder::read(&mut r).is_err(), "{length}");
        }
    }
}

#[test]
fn what_is_refused() {
    let with = |change: &dyn Fn(&mut NnetDiscriminativeSupervision)| {
        let mut changed = output();
        change(&mut changed);
        changed
    };
    let longer = lattice(&[(0, 1, 3, 0.0, 0.0), (1, 2, 5, 0.0, 0.0), (2, 3, 5, 0.0, 0.0)], 3);
    let unequal = lattice(&[(0, 1, 3, 0.0, 0.0), (1, 2, 5, 0.0, 0.0), (0, 2, 5, 0.0, 0.0)], 2);
    // No arc leads to its final state.
    let apart = lattice(&[(0, 1, 3, 0.0, 0.0), (1, 2, 5, 0.0, 0.0)], 3);
    let cases = [
        (with(&|o| o.supervision.lattice = apart.clone()), "no path of the lattice leads to a final state"),
        (with(&|o| o.supervision.lattice = longer.clone()), "it has 3 frames, but the alignment 2"),
        (
            with(&|o| o.supervision.lattice = unequal.clone()),
            "state 2 of the lattice is reached after 1 and after 2",
        ),
        (with(&|o| o.supervision.lattice = Lattice::default()), "the lattice is empty"),
        (
            with(&|o| o.supervision.lattice.states[2].final_weight = LatticeWeight::ZERO),
            "no path of the lattice leads to a final state",
        ),
        (
            with(&|o| o.supervision.lattice.states[0].arcs[0].weight.graph = f32::NAN),
            "state 0 of the lattice has the costs NaN",
        ),
        (
            with(&|o| o.supervision.alignment.truncate(1)),
            "the alignment has 1 frames, expected 1 sequences of 2",
        ),
        (with(&|o| o.supervision.alignment[0] = 0), "the alignment has the transition-id 0"),
        (with(&|o| o.supervision.weight = f32::INFINITY), "the supervision has the weight inf"),
        (with(&|o| o.indexes.truncate(1)), "found 1 indexes, expected 2"),
        (
            with(&|o| o.deriv_weights[1] = 1.5),
            "a weight of derivatives is 1.5, expected a number from 0 to 1",
        ),
    ];
    for (changed, why) in cases {
        let error = changed.check().unwrap_err().to_string();
        assert!(error.starts_with("'output': ") && error.contains(why), "{error}");
        let mut w = KaldiWriter::in_memory(true);
        assert!(changed.write(&mut w).is_err() && w.into_bytes().is_empty(), "{why}");
    }
    // The same when read.
    let text = String::from_utf8(written(&output(), false)).unwrap().replace("[ 3 5 ]", "[ 3 ]");
    let mut r = KaldiReader::from_bytes("input", text.into_bytes());
    r.set_binary(false);
    let error = NnetDiscriminativeSupervision::read(&mut r).unwrap_err().to_string();
    assert!(error.contains("the alignment has 1 frames"), "{error}");
}

#[test]
fn merging() {
    let mut second = example();
    second.outputs[0].supervision =
        Supervision::new(vec![7, 8], lattice(&[(0, 1, 7, 0.5, 0.0), (1, 2, 8, 0.0, 0.0)], 2), 1.0).unwrap();
    second.outputs[0].deriv_weights.clear();
    let merged = Example::merge(vec![example(), second], false).unwrap();
    let output = &merged.outputs[0];
    let expected: Vec<Index> =
        [0, 3].iter().flat_map(|&t| (0..2).map(move |n| Index::new(n, t, 0))).collect();
    assert_eq!(output.indexes, expected);
    assert_eq!(output.deriv_weights, [1.0, 1.0, 0.5, 1.0]);
    assert_eq!(output.supervision.alignment, [3, 5, 7, 8]);
    let expected = lattice(
        &[
            (0, 1, 3, 0.25, 1.0),
            (0, 1, 4, 0.5, 2.0),
            (1, 2, 5, 0.0, -1.0),
            (2, 3, 0, 0.25, 0.5),
            (3, 4, 7, 0.5, 0.0),
            (4, 5, 8, 0.0, 0.0),
        ],
        5,
    );
    assert_eq!(output.supervision.lattice, expected);
    output.check().unwrap();
    let error = Example::merge(vec![merged.clone(), merged], false).unwrap_err().to_string();
    assert!(
        error.contains("'input' has several sequences: merged examples cannot be merged again"),
        "{error}"
    );
    let mut heavy = example();
    heavy.scale_targets(2.0).unwrap();
    let error = Example::merge(vec![example(), heavy], false).unwrap_err().to_string();
    assert!(error.contains("the weight of one example is 1, of another 2"), "{error}");
}

#[test]
fn shifting() {
    for (frames, outputs) in [(1, 0), (2, 3), (-2, -3)] {
        let options = CopyOptions { frame_shift: frames, ..Default::default() };
        let copied = example().copied(&mut Copier::new(options), &mut CRand::default()).unwrap().unwrap().0;
        assert_eq!(copied.inputs[0].time_range(), Some((-2 + frames, 5 + frames)));
        assert_eq!(copied.inputs[1].time_range(), Some((0, 0)), "i-vectors do not move");
        assert_eq!(copied.outputs[0].indexes[0].t, outputs, "{frames}");
    }
}
