//! Chain examples in files, compared with bytes that the reference wrote; refused files; merging and copying. Merged
//! FSTs are compared with OpenFst's in `tests/interop/test_chain.py`.

use kaldi_fst::text::parse;
use kaldi_io::holder::Holder;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter};
use nnet3_chain::{ChainExampleHolder, Graph, NnetChainExample, NnetChainSupervision, Supervision, language};
use nnet3_core::{CRand, Index};
use nnet3_train::copy::{Copier, CopyExample, CopyOptions};
use nnet3_train::{Example, NnetIo};

/// Output "output", t = 0, 3, 2 frames, 2 labels, FST 0→1 (label 1, weight .25), 1→2 (label 2), final 2, weights 1 1.
const OUTPUT: &[u8] = b"<NnetChainSup> output <I1V> \x04\x02\0\0\0\0\x03\
    <Supervision> <Weight> \x04\0\0\x80\x3F<NumSequences> \x04\x01\0\0\0<FramesPerSeq> \x04\x02\0\0\0\
    <LabelDim> \x04\x02\0\0\0<End2End> F\
    \xD6\xFD\xB2\x7E\x10\0\0\0compact_acceptor\x08\0\0\0standard\x02\0\0\0\0\0\0\0\
    \x01\0\x95\x5A\x69\x95\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\
    \0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\
    \x01\0\0\0\0\0\x80\x3E\x01\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\xFF\xFF\xFF\xFF\0\0\0\0\xFF\xFF\xFF\xFF\
    </Supervision> <DW2> FV \x04\x02\0\0\0\0\0\x80\x3F\0\0\x80\x3F</NnetChainSup> ";

fn reader(bytes: &[u8], binary: bool) -> KaldiReader {
    let mut r = KaldiReader::from_bytes("input", bytes.to_vec());
    r.set_binary(binary);
    r
}

fn written(value: &impl KaldiObject, binary: bool) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    value.write(&mut w).unwrap();
    w.into_bytes()
}

fn supervision() -> Supervision {
    Supervision {
        weight: 1.0,
        num_sequences: 1,
        frames_per_sequence: 2,
        label_dim: 2,
        graph: Graph::Constrained(parse("0 1 1 1 0.25\n1 2 2 2\n2\n").unwrap()),
        alignment_pdfs: Vec::new(),
    }
}

fn output() -> NnetChainSupervision {
    NnetChainSupervision {
        name: "output".to_owned(),
        indexes: vec![Index::new(0, 0, 0), Index::new(0, 3, 0)],
        supervision: supervision(),
        deriv_weights: vec![1.0, 1.0],
    }
}

fn example() -> NnetChainExample {
    let features = DenseMatrix { rows: 8, cols: 1, data: (0..8).map(|v| v as f32).collect() };
    let ivector = DenseMatrix::new(1, 2);
    NnetChainExample {
        inputs: vec![
            NnetIo::new("input", features.into(), -2, 1),
            NnetIo::new("ivector", ivector.into(), 0, 1),
        ],
        outputs: vec![output()],
    }
}

#[test]
fn an_output_as_the_reference_stores_it() {
    assert_eq!(NnetChainSupervision::read(&mut reader(OUTPUT, true)).unwrap(), output());
    assert_eq!(written(&output(), true), OUTPUT);
}

/// Weights of derivatives as bytes, or none.
#[test]
fn older_outputs() {
    let before = OUTPUT.windows(5).position(|w| w == b"<DW2>").unwrap();
    for (end, weights) in [
        (&b"<DW> \x01\x02\0\0\0\x80\xFF</NnetChainSup> "[..], vec![128.0 / 255.0, 1.0]),
        (b"</NnetChainSup> ", Vec::new()),
        (b"<DW2> FV \x04\0\0\0\0</NnetChainSup> ", Vec::new()),
    ] {
        let bytes = [&OUTPUT[..before], end].concat();
        let read = NnetChainSupervision::read(&mut reader(&bytes, true)).unwrap();
        assert_eq!(read, NnetChainSupervision { deriv_weights: weights, ..output() });
    }
}

#[test]
fn both_forms_of_everything() {
    let end_to_end = Supervision {
        graph: Graph::EndToEnd(vec![parse("0 0 1 1 0.5\n0 1 2 2\n1 1 2 2\n1 -0.25\n").unwrap()]),
        alignment_pdfs: vec![0, 1],
        ..supervision()
    };
    let mut second = output();
    second.supervision = end_to_end;
    second.deriv_weights.clear();
    let mut example = example();
    example.outputs.push(second);
    for binary in [true, false] {
        let mut w = KaldiWriter::in_memory(binary);
        ChainExampleHolder::write(&mut w, &example).unwrap();
        let bytes = w.into_bytes();
        let read = ChainExampleHolder::read(&mut KaldiReader::from_bytes("input", bytes.clone())).unwrap();
        assert_eq!(read, example);
        // Every beginning of it is an error.
        for length in 0..bytes.len() - 1 {
            let mut r = KaldiReader::from_bytes("input", bytes[..length].to_vec());
            assert!(ChainExampleHolder::read(&mut r).is_err(), "{length}");
        }
    }
}

#[test]
fn the_text_form() {
    let text = String::from_utf8(written(&output(), false)).unwrap();
    assert_eq!(
        text,
        "<NnetChainSup> output <I1V> 2 <I1> 0 0 0 <I1> 0 3 0 <Supervision> <Weight> 1 <NumSequences> 1 \
         <FramesPerSeq> 2 <LabelDim> 2 <End2End> F \n0\t1\t1\t1\t0.25\n1\t2\t2\t2\n2\n\n</Supervision> <DW2>  [ 1 1 ]\n\
         </NnetChainSup> "
    );
}

#[test]
fn what_is_refused() {
    let graph = |text: &str| Graph::Constrained(parse(text).unwrap());
    let with = |change: &dyn Fn(&mut NnetChainSupervision)| {
        let mut changed = output();
        change(&mut changed);
        changed
    };
    let cases = [
        (with(&|o| o.supervision.label_dim = 1), "found the label 2, expected labels up to 1"),
        (
            with(&|o| o.supervision.graph = graph("0 1 1 1\n1 1 2 2\n1 2 2 2\n2\n")),
            "state 1 can be reached from itself",
        ),
        (with(&|o| o.supervision.graph = graph("0 1 1 1\n1\n")), "paths have 1 labels, expected 2"),
        (with(&|o| o.supervision.graph = graph("0 1 1 2\n1 2 2 2\n2\n")), "input label 1 and output label 2"),
        (with(&|o| o.supervision.graph = Graph::Constrained(Default::default())), "no start state"),
        (with(&|o| o.supervision.weight = f32::NAN), "the supervision has the weight NaN"),
        (with(&|o| o.indexes.truncate(1)), "found 1 indexes, expected 2"),
        (with(&|o| o.indexes[1].t = 0), "times must increase, but the second frame is 0 after the first"),
        (with(&|o| o.indexes[1].n = 1), "index 1 is (n=1, t=3, x=0), expected (n=0, t=3, x=0)"),
        (with(&|o| o.deriv_weights.truncate(1)), "found 1 weights of derivatives, expected 2 or none"),
        (with(&|o| o.deriv_weights[1] = -1.0), "a weight of derivatives is -1, expected no negative number"),
    ];
    for (changed, why) in cases {
        let error = changed.check().unwrap_err().to_string();
        assert!(error.starts_with("'output': ") && error.contains(why), "{error}");
        let mut w = KaldiWriter::in_memory(true);
        assert!(changed.write(&mut w).is_err() && w.into_bytes().is_empty(), "{why}");
    }
    // The same when read.
    let at = OUTPUT.windows(10).position(|w| w == b"<LabelDim>").unwrap() + 12;
    let mut bytes = OUTPUT.to_vec();
    bytes[at] = 1;
    let error = NnetChainSupervision::read(&mut reader(&bytes, true)).unwrap_err().to_string();
    assert!(error.starts_with("input, byte 311: 'output': supervision FST: found the label 2"), "{error}");
    bytes[at] = 0;
    let error = NnetChainSupervision::read(&mut reader(&bytes, true)).unwrap_err().to_string();
    assert!(error.contains("expected a number above 0 after <LabelDim>, found 0"), "{error}");
}

#[test]
fn merging() {
    let mut second = example();
    second.inputs[0].features = DenseMatrix { rows: 8, cols: 1, data: vec![9.0; 8] }.into();
    second.outputs[0].supervision.graph =
        Graph::Constrained(parse("0 1 2 2\n0 1 1 1 1\n1 2 1 1\n2 0.5\n").unwrap());
    second.outputs[0].deriv_weights = vec![0.0, 0.5];
    let mut third = example();
    third.outputs[0].deriv_weights.clear();
    let merged = Example::merge(vec![example(), second, third], false).unwrap();
    assert_eq!((merged.size(), merged.inputs[0].indexes[8]), (24, Index::new(1, -2, 0)));
    let output = &merged.outputs[0];
    let expected: Vec<Index> =
        [0, 3].iter().flat_map(|&t| (0..3).map(move |n| Index::new(n, t, 0))).collect();
    assert_eq!(output.indexes, expected);
    assert_eq!(output.deriv_weights, [1.0, 0.0, 1.0, 1.0, 0.5, 1.0]);
    assert_eq!(output.supervision.num_sequences, 3);
    let fst =
        parse("0 1 1 1 0.25\n1 2 2 2\n2 3 2 2\n2 3 1 1 1\n3 4 1 1\n4 5 1 1 0.75\n5 6 2 2\n6\n").unwrap();
    // If empty arcs follow, the arcs of a state are in the opposite order.
    let Graph::Constrained(found) = &output.supervision.graph else { panic!("end to end") };
    assert_eq!((found.states.len(), found.num_arcs()), (fst.states.len(), fst.num_arcs()));
    let costs = |fst: &kaldi_fst::Fst| fst.states.iter().flat_map(|s| &s.arcs).map(|a| a.weight).sum::<f32>();
    assert_eq!(costs(found), costs(&fst));
    output.check().unwrap();
}

#[test]
fn merging_end_to_end() {
    let mut one = example();
    one.outputs[0].supervision.graph = Graph::EndToEnd(vec![parse("0 0 1 1\n0\n").unwrap()]);
    one.outputs[0].supervision.alignment_pdfs = vec![0, 0];
    let merged = Example::merge(vec![one.clone(), one.clone()], false).unwrap();
    let supervision = &merged.outputs[0].supervision;
    assert_eq!((supervision.fsts().len(), supervision.alignment_pdfs.len()), (2, 0));
    assert_eq!(Example::merge(vec![one.clone()], false).unwrap(), one, "one alone is copied");
    let error = Example::merge(vec![one, example()], false).unwrap_err().to_string();
    assert!(error.contains("some examples are end-to-end"), "{error}");
}

#[test]
fn what_cannot_be_merged() {
    let merged = Example::merge(vec![example(), example()], false).unwrap();
    let error = Example::merge(vec![merged.clone(), merged], false).unwrap_err().to_string();
    assert!(
        error.contains("'input' has several sequences: merged examples cannot be merged again"),
        "{error}"
    );
    let mut heavy = example();
    heavy.outputs[0].supervision.weight = 2.0;
    let error = Example::merge(vec![example(), heavy], false).unwrap_err().to_string();
    assert!(error.contains("the weight of one example is 1, of another 2"), "{error}");
}

fn copy(options: CopyOptions) -> NnetChainExample {
    example().copied(&mut Copier::new(options), &mut CRand::default()).unwrap().unwrap().0
}

#[test]
fn shifting_and_trimming() {
    // Outputs are 3 frames apart: shifts of 1 leave them, shifts of 2 move them by 3.
    for (frames, outputs) in [(1, 0), (2, 3), (-1, 0), (-2, -3), (4, 3), (-5, -6)] {
        let copy = copy(CopyOptions { frame_shift: frames, ..Default::default() });
        assert_eq!(copy.inputs[0].time_range(), Some((-2 + frames, 5 + frames)));
        assert_eq!(copy.inputs[1].time_range(), Some((0, 0)), "i-vectors do not move");
        assert_eq!(copy.outputs[0].indexes[0].t, outputs, "{frames}");
    }
    let copy = copy(CopyOptions { left_context: Some(1), right_context: Some(0), ..Default::default() });
    assert_eq!(copy.inputs[0].time_range(), Some((-1, 3)));
    assert_eq!(copy.inputs[0].features.to_dense().data, [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn weights_and_names() {
    let mut example = example();
    example.scale_targets(0.5).unwrap();
    assert_eq!(example.outputs[0].supervision.weight, 0.5);
    example.rename_output("output-1").unwrap();
    assert!(example.output("output-1").is_some() && example.rename_output("x").is_err());
}

#[test]
fn languages() {
    assert_eq!(language::query_value("utt?lang=en", "lang"), Some("en"));
    assert_eq!(language::query_value("a?lang=x?tlang=1&lang=de&x", "lang"), Some("de"));
    assert_eq!(language::query_value("a?lang=x?tlang=1", "lang"), None);
    assert_eq!(language::query_value("lang=x", "lang"), None);
    let mut example = example();
    language::rename_output("utt?lang=en-GB", &mut example).unwrap();
    assert_eq!(
        (example.outputs[0].name.as_str(), &*language::key_suffix(&example)),
        ("output-en-GB", "?lang=en-GB")
    );
    assert!(language::rename_output("utt", &mut example).is_err());
}
