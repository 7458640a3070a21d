//! Denominator graphs and supervision of the reference. FSTs need only accept the same strings at the same costs. A
//! choice is in `tests/data/chain`; all are compared if `NNET3_CHAIN_DIR` names their folder.

use std::path::Path;

use crate::paths::log_sum;
use kaldi_fst::{Fst, FstHolder};
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::holder::{Holder, I32PairVectorHolder, ObjectHolder};
use kaldi_io::{SequentialReader, read_object};
use nnet3_chain::denominator::{make_denominator_fst, make_normalization_fst};
use nnet3_chain::normalize::Normalization;
use nnet3_chain::proto::{ProtoSupervision, SupervisionOptions};
use nnet3_chain::{PhoneModel, Supervision};
use nnet3_decode::CompactLatticeHolder;

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/chain");

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

fn table<H: Holder>(folder: &Path, name: &str) -> Vec<(String, H::T)> {
    let mut reader = SequentialReader::<H>::open(&format!("ark:{}", path(folder, name))).unwrap();
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

fn same_sums(what: &str, found: &Fst, expected: &Fst, frames: usize, allowed: f64) {
    for seed in 0..3 {
        let (a, b) = (log_sum(found, frames, seed), log_sum(expected, frames, seed));
        assert!(b.is_finite() && (a - b).abs() <= allowed, "{what}: {a}, expected {b}");
    }
}

struct Model {
    tree: ContextDependency,
    transitions: TransitionModel,
}

impl Model {
    fn read(lang: &Path, name: &str) -> Model {
        Model {
            tree: read_object(&path(lang, &format!("{name}.tree"))).unwrap(),
            transitions: read_object(&path(lang, &format!("{name}.trans_mdl"))).unwrap(),
        }
    }
    fn phones(&self) -> PhoneModel<'_> {
        PhoneModel::new(&self.tree, &self.transitions).unwrap()
    }
}

/// Makes the denominator and normalization FSTs again.
fn check_denominators(folder: &Path, names: &[(&str, &str, &str)]) {
    let lang = folder.join("lang");
    for &(name, tree, lm) in names {
        let model = Model::read(&lang, tree);
        let lm = kaldi_fst::read_fst(&path(&lang, &format!("phone_lm.{lm}.fst"))).unwrap();
        let found = make_denominator_fst(model.phones(), lm, &mut |_, _| ()).unwrap();
        let expected = kaldi_fst::read_fst(&path(&lang, &format!("den.{name}.fst"))).unwrap();
        // Ours are somewhat smaller: the reference minimizes without sorting, and so keeps equivalent states with
        // differently ordered arcs apart (docs/differences.md).
        let near = |a: usize, b: usize| 20 * a <= 21 * b && 5 * a >= 4 * b;
        let sizes = |fst: &Fst| (fst.states.len(), fst.num_arcs());
        assert!(
            near(sizes(&found).0, sizes(&expected).0) && near(sizes(&found).1, sizes(&expected).1),
            "{name}: {:?}, expected {:?}",
            sizes(&found),
            sizes(&expected)
        );
        let found = make_normalization_fst(&found).unwrap();
        let expected = kaldi_fst::read_fst(&path(&lang, &format!("normalization.{name}.fst"))).unwrap();
        // Costs were rounded on the way, to a hundredth, and other states are joined.
        let frames = 50;
        same_sums(name, &found, &expected, frames, 0.002 * frames as f64);
    }
}

/// Parses a line of options, as `chain-get-supervision` has them.
fn supervision_options(line: &str) -> (SupervisionOptions, bool, bool) {
    let (mut options, mut pdfs, mut lattices) = (SupervisionOptions::default(), true, false);
    for word in line.split_whitespace() {
        match word.split_once('=').unwrap_or((word, "")) {
            ("--frame-subsampling-factor", value) => {
                options.frame_subsampling_factor = value.parse().unwrap()
            }
            ("--left-tolerance", value) => options.left_tolerance = value.parse().unwrap(),
            ("--right-tolerance", value) => options.right_tolerance = value.parse().unwrap(),
            ("--lm-scale", value) => options.lm_scale = value.parse().unwrap(),
            ("--convert-to-pdfs", value) => pdfs = value.parse().unwrap(),
            ("--lattice-input", value) => lattices = value.parse().unwrap(),
            (option, _) => assert!(!option.starts_with("--") || option == "--weight", "{option}"),
        }
    }
    (options, pdfs, lattices)
}

/// Makes the supervision again as `supervision/sup.*.cmd` say. Returns the number of files.
fn check_supervision(folder: &Path) -> usize {
    let (lang, files) = (folder.join("lang"), folder.join("supervision"));
    let mut count = 0;
    for entry in std::fs::read_dir(&files).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(stem) = name.strip_suffix(".cmd").filter(|stem| stem.starts_with("sup.")) else { continue };
        let expected = ["ark", "txt"].map(|end| format!("{stem}.{end}"));
        let Some(expected) = expected.into_iter().find(|name| files.join(name).exists()) else { continue };
        let command = std::fs::read_to_string(files.join(&name)).unwrap();
        let (options, pdfs, lattices) = supervision_options(&command);
        let words: Vec<&str> = command.split_whitespace().filter(|word| !word.starts_with("--")).collect();
        let tree = words[1].strip_prefix("../lang/").unwrap().strip_suffix(".tree").unwrap();
        let input = words[3].split_once(':').unwrap().1;
        let model = Model::read(&lang, tree);
        let protos: Vec<(String, ProtoSupervision)> = if lattices {
            let all = table::<CompactLatticeHolder>(&files, input);
            all.into_iter().map(|(k, v)| (k, ProtoSupervision::from_lattice(v, &options).unwrap())).collect()
        } else {
            let all = table::<I32PairVectorHolder>(&files, input);
            all.into_iter()
                .map(|(k, v)| (k, ProtoSupervision::from_durations(&v, &options).unwrap()))
                .collect()
        };
        let made = protos
            .into_iter()
            .filter_map(|(key, proto)| Some((key, proto.supervision(model.phones(), pdfs).unwrap()?)));
        let made: Vec<(String, Supervision)> = made.collect();
        let expected = table::<ObjectHolder<Supervision>>(&files, &expected);
        assert_eq!(made.len(), expected.len(), "{stem}");
        for ((key, found), (wanted_key, wanted)) in made.iter().zip(&expected) {
            assert_eq!(key, wanted_key, "{stem}");
            found.check().unwrap();
            let header = |s: &Supervision| (s.weight, s.num_sequences, s.frames_per_sequence, s.label_dim);
            assert_eq!(header(found), header(wanted), "{stem}, {key}");
            let frames = found.frames_per_sequence;
            same_sums(&format!("{stem}, {key}"), &found.fsts()[0], &wanted.fsts()[0], frames, 1e-2);
        }
        count += 1;
    }
    count
}

#[test]
fn graphs_of_the_reference() {
    let folder = Path::new(SHIPPED);
    check_denominators(folder, &[("bi", "bi", "default"), ("tri", "tri", "default")]);
    assert_eq!(check_supervision(folder), 4);
}

#[test]
fn all_graphs_of_the_reference() {
    let Some(folder) = kaldi_io::testing::data_folder("NNET3_CHAIN_DIR") else {
        return;
    };
    let folder = Path::new(&folder);
    let names = [("mono", "mono", "default"), ("bi", "bi", "default"), ("tri", "tri", "default")];
    check_denominators(folder, &names);
    check_denominators(folder, &[("bi-pruned", "bi", "pruned")]);
    assert!(check_supervision(folder) >= 12);
    let files = folder.join("supervision");
    for tree in ["mono", "bi"] {
        let model = Model::read(&folder.join("lang"), tree);
        let fst = kaldi_fst::read_fst(&path(folder, &format!("lang/normalization.{tree}.fst"))).unwrap();
        let normalization = Normalization::new(fst, 1.0).unwrap();
        let graphs = table::<FstHolder>(&files, &format!("graphs.{tree}.ark"));
        let expected = table::<FstHolder>(&files, &format!("e2e.num.{tree}.ark"));
        assert_eq!(graphs.len(), expected.len());
        for ((key, graph), (_, expected)) in graphs.iter().zip(&expected) {
            let found = normalization.training_graph(graph, &model.transitions).unwrap().unwrap();
            same_sums(key, &found, expected, 80, 1e-2);
        }
    }
}

#[test]
fn what_is_refused() {
    let options = SupervisionOptions { frame_subsampling_factor: 3, ..Default::default() };
    let refusal = |segments: &[(i32, i32)], options: &SupervisionOptions| {
        ProtoSupervision::from_durations(segments, options).unwrap_err().to_string()
    };
    assert!(refusal(&[], &options).contains("no frames"));
    assert!(refusal(&[(1, 0)], &options).contains("found phone 1 with 0 frames"));
    assert!(refusal(&[(0, 3)], &options).contains("found phone 0"));
    let tight = SupervisionOptions { left_tolerance: 0, right_tolerance: 1, ..options };
    assert!(refusal(&[(1, 3)], &tight).contains("must add up to"));
    assert!(refusal(&[(1, 3)], &SupervisionOptions { lm_scale: 1.0, ..options }).contains("less than 1"));
    let lattice = nnet3_decode::CompactLattice::default();
    let found = ProtoSupervision::from_lattice(lattice, &options).unwrap_err().to_string();
    assert!(found.contains("empty"), "{found}");
    let model = Model::read(&Path::new(SHIPPED).join("lang"), "bi");
    let proto = ProtoSupervision::from_durations(&[(99, 9)], &options).unwrap();
    let found = proto.supervision(model.phones(), true).unwrap_err().to_string();
    assert!(found.contains("phone 99 is not in the topology"), "{found}");
    let short = ProtoSupervision::from_durations(&[(1, 1), (2, 1), (3, 1)], &options).unwrap();
    assert_eq!(short.supervision(model.phones(), true).unwrap(), None);
    let tri = Model::read(&Path::new(SHIPPED).join("lang"), "tri");
    assert!(PhoneModel::new(&tri.tree, &model.transitions).is_ok());
}
