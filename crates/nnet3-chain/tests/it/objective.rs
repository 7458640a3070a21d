//! Compares objectives and derivatives with the reference, and derivatives with finite differences. Some cases are in
//! `tests/data/chain`. If `NNET3_CHAIN_DIR` names the folder of all cases, all are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kaldi_io::holder::MatrixHolder;
use kaldi_io::{DenseMatrix, SequentialReader, read_object};
use nnet3_chain::{
    ChainObjective, ChainOptions, ChainScratch, DenominatorGraph, Graph, Supervision, evaluate,
};
use nnet3_matrix::{Device, Matrix, cpu};
use serde_json::Value;

/// An object's values by name.
struct Json(Value);

impl Json {
    fn word(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_else(|| panic!("no word {name}"))
    }
    fn number(&self, name: &str) -> f64 {
        // A value that is not finite is a word.
        self.0[name].as_f64().unwrap_or_else(|| self.word(name).parse().expect(name))
    }
}

fn matrices(path: &Path) -> BTreeMap<String, DenseMatrix<f32>> {
    let mut reader = SequentialReader::<MatrixHolder>::open(&format!("ark:{}", path.display())).unwrap();
    let mut all = BTreeMap::new();
    while let Some((key, matrix)) = reader.next().unwrap() {
        all.insert(key, matrix);
    }
    all
}

fn on(device: &Device, matrix: &DenseMatrix<f32>) -> Matrix {
    Matrix::from_slice(device, matrix.rows, matrix.cols, &matrix.data)
}

fn norm(x: &[f32]) -> f64 {
    x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

/// ‖a - b‖ / ‖b‖; 0 if both are zero.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    let difference: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    if norm(&difference) == 0.0 { 0.0 } else { norm(&difference) / norm(b) }
}

struct Case {
    graph: DenominatorGraph,
    supervision: Supervision,
    options: ChainOptions,
    expected: Json,
    output: Matrix,
    matrices: BTreeMap<String, DenseMatrix<f32>>,
}

impl Case {
    fn read(folder: &Path, device: &Device) -> Case {
        let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
        let expected = Json(serde_json::from_str(&text).unwrap());
        let lang = folder.join("../../lang");
        let den = lang.join(format!("den.{}.fst", expected.word("den")));
        let fst = kaldi_fst::read_fst(den.to_str().unwrap()).unwrap();
        let number = |name| expected.number(name) as f32;
        let options = ChainOptions {
            leaky_hmm_coefficient: number("leaky_hmm_coefficient"),
            l2_regularize: number("l2_regularize"),
            out_of_range_regularize: number("out_of_range_regularize"),
            lwf_den_scale: number("lwf_den_scale"),
            numerator_graph_threads: 2,
            ..ChainOptions::default()
        };
        Case {
            graph: DenominatorGraph::new(&fst, number("num_pdfs") as usize).unwrap(),
            supervision: read_object(folder.join("supervision").to_str().unwrap()).unwrap(),
            options,
            output: on(device, &matrices(&folder.join("nnet_output.ark"))["output"]),
            matrices: matrices(&folder.join("expected.ark")),
            expected,
        }
    }

    fn evaluate(
        &self,
        penalty: bool,
        derivs: bool,
        scratch: &mut ChainScratch,
    ) -> (ChainObjective, Matrix, Matrix) {
        let device = self.output.device();
        let nan = vec![f32::NAN; self.output.len()];
        let make = || Matrix::from_slice(device, self.output.rows(), self.output.cols(), &nan);
        let (mut deriv, mut xent) = (make(), make());
        let views = derivs.then(|| (deriv.view_mut(), xent.view_mut()));
        let (d, x) = views.unzip();
        let (graph, supervision) = (&self.graph, &self.supervision);
        let objective =
            evaluate(&self.options, graph, supervision, self.output.view(), penalty, d, x, scratch);
        (objective.unwrap(), deriv, xent)
    }
}

/// The largest error in units of its limit.
fn check(folder: &Path, device: &Device, scratch: &mut ChainScratch) -> f64 {
    let case = Case::read(folder, device);
    let name = folder.file_name().unwrap().display();
    let mut worst = 0.0f64;
    let mut close = |what: &str, error: f64, allowed: f64| {
        assert!(error <= allowed, "{name}: {what} is off by {error}, {allowed} is allowed");
        worst = worst.max(error / allowed);
    };
    let expected = |what: &str| case.expected.number(what);
    let scalar = |found: f64, wanted: f64| ((found - wanted).abs(), 1e-4f64.max(1e-5 * wanted.abs()));
    let (objective, deriv, xent) = case.evaluate(false, true, scratch);
    let failed = expected("objf") == -10.0 * expected("weight");
    assert_eq!(objective.failed.is_some(), failed, "{name}");
    assert_eq!(objective.doubtful, None, "{name}");
    let mut compare = |what: &str, found: f64| {
        let (error, allowed) = scalar(found, expected(what));
        close(what, error, allowed);
    };
    compare("objf", objective.objf);
    compare("weight", objective.weight);
    compare("denominator_logprob_weighted", objective.denominator);
    if !failed {
        compare("numerator_logprob_weighted", objective.numerator);
    }
    let l2 = expected("l2_term");
    close("l2_term", (objective.l2_term - l2).abs(), 1e-5 * l2.abs());
    let mut compare = |what: &str, found: &Matrix| {
        let Some(wanted) = case.matrices.get(what) else { return };
        close(what, distance(&found.to_vec(), &wanted.data), 1e-4);
    };
    compare("nnet_output_deriv", &deriv);
    compare("xent_output_deriv", &xent);
    if failed {
        assert!(xent.to_vec().iter().chain(&deriv.to_vec()).all(|&d| d == 0.0), "{name}");
    }
    let (again, deriv, _) = case.evaluate(true, true, scratch);
    // (In words: a failed objective may have parts that are NaN.)
    assert_eq!(format!("{again:?}"), format!("{objective:?}"), "{name}");
    let penalized = case.matrices.contains_key("nnet_output_deriv_with_penalty");
    compare(if penalized { "nnet_output_deriv_with_penalty" } else { "nnet_output_deriv" }, &deriv);
    let (plain, untouched, _) = case.evaluate(true, false, scratch);
    let (found, wanted) = ((plain.objf, plain.l2_term), (objective.objf, objective.l2_term));
    assert_eq!(found, wanted, "{name}");
    assert!(untouched.to_vec().iter().all(|d| d.is_nan()), "{name}");
    worst
}

fn check_all(folder: &Path, device: &Device) -> usize {
    let mut scratch = ChainScratch::new(device);
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(folder.join("objective")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for case in &folders {
        let worst = check(case, device, &mut scratch);
        println!("{}: {worst:.3} of what is allowed", case.file_name().unwrap().display());
    }
    folders.len()
}

fn check_initial(folder: &Path) {
    for tree in ["bi", "mono", "tri"] {
        let Ok(text) = std::fs::read_to_string(folder.join(format!("lang/initial_probs.{tree}.txt"))) else {
            continue;
        };
        let fst = kaldi_fst::read_fst(folder.join(format!("lang/den.{tree}.fst")).to_str().unwrap()).unwrap();
        let found = nnet3_chain::denominator::initial_probabilities(&fst).unwrap();
        let expected: Vec<f32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{tree}");
    }
}

#[test]
fn cases_of_the_reference() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/chain"));
    assert_eq!(check_all(folder, &cpu()), 9);
    check_initial(folder);
}

/// Runs the cases by the kernels for GPUs; work is sent as graphs the second time.
#[test]
fn cases_of_the_reference_on_a_device() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/chain"));
    assert_eq!(check_all(folder, &nnet3_cuda_twin::device()), 9);
}

#[test]
fn all_cases_of_the_reference() {
    let Some(folder) = kaldi_io::testing::data_folder("NNET3_CHAIN_DIR") else {
        return;
    };
    assert!(check_all(Path::new(&folder), &cpu()) >= 43);
    check_initial(Path::new(&folder));
}

/// The derivative along a few directions, for both kinds of supervision, with regularisation.
#[test]
fn derivatives_are_differences() {
    let device = cpu();
    let mut scratch = ChainScratch::new(&device);
    for name in ["single-l2", "e2e-weight", "tri-1"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chain/objective").join(name);
        let mut case = Case::read(&folder, &device);
        case.options.l2_regularize = 0.01;
        if case.expected.0["end_to_end"] == true {
            // Its objective leaves out the weight that its derivative has.
            case.supervision.weight = 1.0;
        }
        let (_, deriv, _) = case.evaluate(false, true, &mut scratch);
        let start = case.output.to_vec();
        for seed in 0..4 {
            let direction: Vec<f32> = (0..start.len()).map(|k| ((k * 7 + seed) as f32).sin()).collect();
            let mut at = |step: f32| {
                let moved: Vec<f32> = start.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
                case.output = Matrix::from_slice(&device, case.output.rows(), case.output.cols(), &moved);
                let (objective, ..) = case.evaluate(false, false, &mut scratch);
                objective.objf + objective.l2_term
            };
            let difference = (at(0.01) - at(-0.01)) / 0.02;
            let expected: f64 =
                deriv.to_vec().iter().zip(&direction).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            assert!((difference - expected).abs() < 2e-3 * norm(&deriv.to_vec()), "{difference} {expected}");
        }
    }
}

#[test]
fn what_does_not_fit() {
    let device = cpu();
    let mut scratch = ChainScratch::new(&device);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chain/objective/single-l2");
    let case = Case::read(&folder, &device);
    let mut refused = |options: &ChainOptions, supervision: &Supervision, output: &Matrix, expected: &str| {
        let found =
            evaluate(options, &case.graph, supervision, output.view(), false, None, None, &mut scratch);
        let found = found.unwrap_err().to_string();
        assert!(found.contains(expected), "{found}");
    };
    let with = |change: &dyn Fn(&mut Supervision)| {
        let mut supervision = case.supervision.clone();
        change(&mut supervision);
        supervision
    };
    let leaky = |leaky_hmm_coefficient| ChainOptions { leaky_hmm_coefficient, ..case.options.clone() };
    for bad in [0.0, 1.0, -0.1, f32::NAN] {
        refused(&leaky(bad), &case.supervision, &case.output, "expected a number above 0 and below 1");
    }
    refused(&case.options, &with(&|s| s.label_dim = 87), &case.output, "denominator graph is for 88 pdfs");
    let short = Matrix::zeros(&device, case.output.rows() - 1, case.output.cols());
    refused(&case.options, &case.supervision, &short, "expected 20 rows for 1 sequences of 20 frames");
    let fst = |text: &str| {
        let fst = kaldi_fst::text::parse(text).unwrap();
        with(&|s| s.graph = Graph::Constrained(fst.clone()))
    };
    refused(
        &case.options,
        &fst("0 1 0 0\n1\n"),
        &case.output,
        "0 labels lead to state 0, expected paths of 20",
    );
    refused(&case.options, &fst("0 1 0 5\n1\n"), &case.output, "has an output label but no input label");
    refused(&case.options, &fst("0 1 89 89\n1\n"), &case.output, "has the label 89");
    let nothing = with(&|s| s.graph = Graph::Constrained(kaldi_fst::Fst::default()));
    refused(&case.options, &nothing, &case.output, "no start state");
    refused(&case.options, &fst("0 1 1 1\n1\n"), &case.output, "expected paths of 20 labels");
    refused(&case.options, &fst("0 0 1 1\n0\n"), &case.output, "can be reached from itself");
}
