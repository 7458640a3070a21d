//! Makes the reference's chain examples again from features and supervision. `NNET3_CHAIN_DIR` names their folder. FSTs
//! must accept the same sequences at the same costs; all other parts are equal.

use std::path::Path;

use crate::paths::log_sum;
use kaldi_fst::{Fst, FstHolder, read_fst};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{GeneralMatrixHolder, Holder, MatrixHolder, ObjectHolder, VectorHolder};
use kaldi_io::matrix::DenseMatrix;
use kaldi_io::{RandomReader, SequentialReader, read_object};
use nnet3_chain::chunk::{ChainChunks, ChainCut, ChainUtterance};
use nnet3_chain::end_to_end::{EndToEnd, EndToEndUtterance};
use nnet3_chain::normalize::Normalization;
use nnet3_chain::{ChainExampleHolder, NnetChainExample, Supervision};
use nnet3_train::chunk::ChunkOptions;
use nnet3_train::split::{SplitOptions, UtteranceSplitter};

type Examples = Vec<(String, NnetChainExample)>;

fn file(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

fn table<H: Holder>(folder: &Path, name: &str) -> Vec<(String, H::T)> {
    let mut reader = SequentialReader::<H>::open(&format!("ark:{}", file(folder, name))).unwrap();
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

fn random<H: Holder>(folder: &Path, name: &str) -> RandomReader<H> {
    RandomReader::open(&format!("ark:{}", file(folder, name))).unwrap()
}

/// The example without FSTs, and without which i-vector of the utterance it has: that is drawn at random.
fn around(example: &NnetChainExample) -> NnetChainExample {
    let mut example = example.clone();
    for ivector in example.inputs.iter_mut().filter(|io| io.name == "ivector") {
        ivector.features = DenseMatrix::new(ivector.features.rows(), ivector.features.cols()).into();
    }
    for output in &mut example.outputs {
        output.supervision.graph = nnet3_chain::Graph::EndToEnd(Vec::new());
    }
    example
}

/// The largest difference between log-sums.
fn compare(what: &str, found: &Examples, expected: &Examples, alignments: bool) -> f64 {
    assert_eq!(found.len(), expected.len(), "{what}");
    let mut worst = 0.0f64;
    for ((key, example), (expected_key, expected)) in found.iter().zip(expected) {
        assert_eq!(key, expected_key, "{what}");
        let mut plain = around(example);
        if !alignments {
            let drawn = &expected.outputs[0].supervision.alignment_pdfs;
            let pdfs = std::mem::replace(&mut plain.outputs[0].supervision.alignment_pdfs, drawn.clone());
            assert_eq!(pdfs.len(), drawn.len());
        }
        assert!(plain == around(expected), "{what}, {key}: something around the FST differs");
        let (a, b) = (&example.outputs[0].supervision, &expected.outputs[0].supervision);
        assert_eq!(
            std::mem::discriminant(&a.graph),
            std::mem::discriminant(&b.graph),
            "{what}, {key}: the kind of supervision"
        );
        for (found, expected) in a.fsts().iter().zip(b.fsts()) {
            let plain = |fst: &Fst| {
                let mut fst = fst.clone();
                kaldi_fst::ops::remove_epsilons(&mut fst).unwrap();
                fst
            };
            let (found, expected) = (plain(found), plain(expected));
            for seed in 0..3 {
                let sums = [&found, &expected].map(|fst| log_sum(fst, a.frames_per_sequence, seed));
                let difference = (sums[0] - sums[1]).abs();
                assert!(sums[1].is_finite() && difference < 1e-2, "{what}, {key}: {sums:?}");
                worst = worst.max(difference);
            }
        }
    }
    worst
}

struct Case {
    name: &'static str,
    frames: &'static str,
    overlap: i32,
    contexts: [i32; 4],
    features: &'static str,
    supervision: &'static str,
    normalization: Option<(&'static str, f32)>,
    ivectors: bool,
    deriv_weights: bool,
    unconstrained: bool,
    compress: bool,
}

const CASE: Case = Case {
    name: "egs.60",
    frames: "60",
    overlap: 0,
    contexts: [10, 10, -1, -1],
    features: "feats.ark",
    supervision: "sup.bi.ark",
    normalization: Some(("bi", 1.0)),
    ivectors: false,
    deriv_weights: false,
    unconstrained: false,
    compress: true,
};

const CASES: [Case; 12] = [
    CASE,
    Case { name: "egs.30", frames: "30", ..CASE },
    Case {
        name: "egs.30.dw",
        frames: "30",
        overlap: 6,
        features: "feats.3.ark",
        deriv_weights: true,
        ..CASE
    },
    Case { name: "egs.30.ivectors", frames: "30", features: "feats.3.ark", ivectors: true, ..CASE },
    Case { name: "egs.60.contexts", contexts: [20, 7, 0, 0], ..CASE },
    Case {
        name: "egs.60.lat",
        supervision: "sup.bi.lat-lm0.5.ark",
        normalization: Some(("bi", 0.5)),
        ..CASE
    },
    Case { name: "egs.60.lat.raw", supervision: "sup.bi.lat-lm0.5.ark", normalization: None, ..CASE },
    Case { name: "egs.60.mono", supervision: "sup.mono.ark", normalization: Some(("mono", 1.0)), ..CASE },
    Case { name: "egs.60.tri", supervision: "sup.tri.ark", normalization: Some(("tri", 1.0)), ..CASE },
    Case { name: "egs.60.unconstrained", supervision: "sup.bi.tids.ark", unconstrained: true, ..CASE },
    Case { name: "egs.whole", frames: "-1", ..CASE },
    Case {
        name: "egs.30.text",
        frames: "30",
        contexts: [1, 1, -1, -1],
        features: "feats.short.txt",
        supervision: "sup.bi.text.txt",
        compress: false,
        ..CASE
    },
];

fn split(frames: &str, overlap: i32, contexts: [i32; 4]) -> SplitOptions {
    let [left_context, right_context, left_context_initial, right_context_final] = contexts;
    SplitOptions {
        left_context,
        right_context,
        left_context_initial,
        right_context_final,
        num_frames: frames.to_owned(),
        num_frames_overlap: overlap,
        keep_short: false,
        frame_subsampling_factor: 3,
    }
}

fn options(compress: bool) -> ChunkOptions {
    ChunkOptions { compress, ivector_period: 10, length_tolerance: 100, targets_length_tolerance: 1 }
}

fn normalization(lang: &Path, (model, scale): (&str, f32)) -> Normalization {
    Normalization::new(read_fst(&file(lang, &format!("normalization.{model}.fst"))).unwrap(), scale).unwrap()
}

fn make(folder: &Path, case: &Case) -> (Examples, usize) {
    let lang = folder.with_file_name("lang");
    let transitions: TransitionModel = read_object(&file(&lang, "bi.trans_mdl")).unwrap();
    let chunks = ChainChunks {
        options: options(case.compress),
        long_keys: case.name == "egs.60.contexts",
        normalization: case.normalization.map(|which| normalization(&lang, which)),
        transitions: case.unconstrained.then_some(&transitions),
        seed: 0,
    };
    let mut splitter = UtteranceSplitter::new(&split(case.frames, case.overlap, case.contexts)).unwrap();
    splitter.seed(0);
    let mut supervision = random::<ObjectHolder<Supervision>>(folder, case.supervision);
    let mut ivectors = random::<MatrixHolder>(folder, "ivectors.txt");
    let mut weights = random::<VectorHolder>(folder, "deriv_weights.txt");
    let (mut out, mut warned) = (Vec::new(), 0);
    for (key, features) in table::<GeneralMatrixHolder>(folder, case.features) {
        let utterance = ChainUtterance {
            key: &key,
            features: &features,
            ivectors: if case.ivectors { ivectors.get(&key).unwrap() } else { None },
            supervision: supervision.get(&key).unwrap().unwrap(),
            deriv_weights: if case.deriv_weights {
                weights.get(&key).unwrap().map(Vec::as_slice)
            } else {
                None
            },
        };
        assert_eq!(utterance.not_finite(), None);
        match chunks.cut(&mut splitter, utterance).unwrap() {
            ChainCut::Examples { examples, warnings } => {
                out.extend(examples);
                warned += warnings.len();
            }
            ChainCut::TooShort(why) | ChainCut::Rejected(why) => panic!("{key}: {why}"),
        }
    }
    (out, warned)
}

fn make_end_to_end(folder: &Path, frames: &str, contexts: [i32; 4]) -> Examples {
    let lang = folder.with_file_name("lang");
    let transitions: TransitionModel = read_object(&file(&lang, "bi.trans_mdl")).unwrap();
    let fst = Some(normalization(&lang, ("bi", 1.0)));
    let mut maker = EndToEnd::new(options(true), &split(frames, 0, contexts), &transitions, fst, 0).unwrap();
    let mut features = random::<GeneralMatrixHolder>(folder, "feats.ark");
    let mut out = Vec::new();
    for (key, graph) in table::<FstHolder>(folder, "graphs.bi.ark") {
        let features = features.get(&key).unwrap().unwrap().to_dense().into();
        let utterance =
            EndToEndUtterance { key: &key, features: &features, ivectors: None, training_graph: &graph };
        let made = maker.make(utterance).unwrap();
        out.push((key, made.example.unwrap_or_else(|| panic!("{:?}", made.warnings))));
    }
    out
}

#[test]
fn examples_of_the_reference() {
    let Some(folder) = kaldi_io::testing::data_folder("NNET3_CHAIN_DIR") else {
        return;
    };
    let folder = Path::new(&folder).join("supervision");
    for case in &CASES {
        let ending = if case.name == "egs.30.text" { "txt" } else { "cegs" };
        let expected = table::<ChainExampleHolder>(&folder, &format!("{}.{ending}", case.name));
        let (found, warned) = make(&folder, case);
        let worst = compare(case.name, &found, &expected, !case.unconstrained);
        assert_eq!(warned, usize::from(case.name == "egs.60.tri"), "{}", case.name);
        println!("{}: {} examples, log-sums within {worst:.1e}", case.name, found.len());
    }
    for (name, frames, contexts) in [
        ("e2e.egs.bi", "60,120,180,240,300", [10, 10, -1, -1]),
        ("e2e.egs.odd-lengths", "57,123,182,236,303", [10, 10, 3, 0]),
    ] {
        let expected = table::<ChainExampleHolder>(&folder, &format!("{name}.cegs"));
        let found = make_end_to_end(&folder, frames, contexts);
        let worst = compare(name, &found, &expected, true);
        println!("{name}: {} examples, log-sums within {worst:.1e}", found.len());
    }
}
