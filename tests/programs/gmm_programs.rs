//! Gaussian systems: figures of the reference, a small system from the first model to lattices, and bad input.

use std::path::Path;

use crate::common::{Folder, run, succeed};
use kaldi_gmm::AmDiagGmm;
use kaldi_hmm::TransitionModel;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, read_object};

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gmm").join(name).display().to_string()
}

/// A table argument.
fn ark(path: impl std::fmt::Display) -> String {
    format!("ark:{path}")
}

fn read_model(path: &str) -> (TransitionModel, AmDiagGmm) {
    let mut r = KaldiReader::open(path).unwrap();
    (TransitionModel::read(&mut r).unwrap(), AmDiagGmm::read(&mut r).unwrap())
}

/// Numbers differ by at most the tolerance, relative to the larger one or to 2 % of the largest of all.
fn assert_close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    let scale = 0.02 * expected.iter().fold(0.0f32, |max, x| max.max(x.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()).max(scale), "{a} for {b}");
    }
}

fn assert_same_matrix(found: &str, expected: &str) {
    let (found, expected): (DenseMatrix<f32>, DenseMatrix<f32>) =
        (read_object(found).unwrap(), read_object(expected).unwrap());
    assert_eq!((found.rows, found.cols), (expected.rows, expected.cols));
    assert_close(&found.data, &expected.data, 1e-4);
}

#[test]
fn transforms_of_the_reference() {
    let folder = Folder::new("transforms");
    let out = folder.path("out");
    for (program, inputs, expected) in [
        ("compose-transforms", vec!["mllt.mat", "lda.mat"], "ldamllt.mat"),
        ("compose-transforms", vec!["affine.mat", "mllt.mat"], "compose.affine.mat"),
        ("extend-transform-dim", vec!["mllt.mat"], "extend.mat"),
    ] {
        let mut arguments: Vec<String> = inputs.into_iter().map(data).collect();
        if program == "extend-transform-dim" {
            arguments.insert(0, "--new-dimension=45".to_owned());
        }
        arguments.push(out.clone());
        succeed(program, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_same_matrix(&out, &data(expected));
    }
    // The first rows are those that replace others; the inverse inverts.
    let (part, full, inverse) = (data("mllt.mat"), folder.path("full"), folder.path("inverse"));
    succeed("get-full-lda-mat", &[&part, &data("mllt.mat"), &full, &inverse]);
    assert_same_matrix(&full, &part);
    succeed("compose-transforms", &[&inverse, &full, &out]);
    let unit: DenseMatrix<f32> = read_object(&out).unwrap();
    assert!((0..40).all(|i| (unit.row(i)[i] - 1.0).abs() < 1e-4 && unit.row(i)[(i + 1) % 40].abs() < 1e-4));

    let log = succeed("sum-matrices", &[&out, &part, &part]);
    assert!(log.contains("Summed 2 matrices  of dimension 40 by 40"), "{log}");
    let (sum, one): (DenseMatrix<f32>, DenseMatrix<f32>) =
        (read_object(&out).unwrap(), read_object(&part).unwrap());
    assert!(sum.data.iter().zip(&one.data).all(|(sum, x)| *sum == 2.0 * x));
    assert_eq!(run("sum-matrices", &[&out, &part, &data("lda.mat")]).status, 255);

    let vectors = ark(data("vecs"));
    let log =
        succeed("est-pca", &["--read-vectors=true", "--normalize-mean=true", "--dim=5", &vectors, &out]);
    assert!(log.contains("Accumulated stats from 30 vectors, 0 with errors."), "{log}");
    assert!(log.contains("Sum of PCA eigenvalues is 60416.2, sum of kept eigenvalues is 49194.7"), "{log}");
    assert_same_matrix(&out, &data("pca.vec.mat"));
    let transformed = folder.path("transformed");
    let log = succeed("transform-vec", &[&data("pca.vec.mat"), &vectors, &format!("ark,t:{transformed}")]);
    assert!(log.contains("Applied transform to 30 vectors."), "{log}");
    let numbers = |path: &str| -> Vec<f32> {
        let text = std::fs::read_to_string(path).unwrap();
        text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    assert_close(&numbers(&transformed), &numbers(&data("transformvec.ark")), 1e-4);
}

#[test]
fn mixing_up_as_the_reference() {
    let folder = Folder::new("mixup");
    let (model, occupancies, out) = (data("init.mdl"), data("init.occs"), folder.path("out"));
    let log = succeed("gmm-mixup", &["--mix-up=70", &model, &occupancies, &out]);
    let sentence = "Split 56 states with target = 70, power = 0.2, perturb_factor = 0.01 and min_count = 20, split \
        #Gauss from 56 to 70";
    assert!(log.contains(sentence), "{log}");
    let ((_, found), (_, expected)) = (read_model(&out), read_model(&data("mixup.mdl")));
    for (found, expected) in found.pdfs().iter().zip(expected.pdfs()) {
        assert_close(found.weights(), expected.weights(), 1e-5);
        assert_close(
            &found.means_invvars().to_matrix().data,
            &expected.means_invvars().to_matrix().data,
            1e-4,
        );
        assert_close(&found.inv_vars().to_matrix().data, &expected.inv_vars().to_matrix().data, 1e-5);
    }
    // Merged again, there is one Gaussian a pdf, and the means are nearly those from before.
    succeed("gmm-mixup", &["--mix-down=56", &out, &occupancies, &out]);
    assert_eq!(read_model(&out).1.num_gauss(), 56);
    // Without numbers, the file with occupancies need not be there.
    succeed("gmm-mixup", &[&model, "none", &out]);
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(&model).unwrap());
    let error = run("gmm-mixup", &["--mix-up=70", &data("mixup.mdl"), &data("vecs"), &out]);
    assert_eq!(error.status, 255, "{}", error.stderr);
}

#[test]
fn posteriors_of_the_reference() {
    let folder = Folder::new("posteriors");
    let (model, posteriors, out) = (data("transitions.mdl"), ark(data("post")), folder.path("out"));
    let to = format!("ark,t:{out}");
    let silence = "1:2:3:4:5:6:7:8:9:10";
    let arguments = ["--distribute=true", "0.1", silence, &model, &posteriors, &to];
    let log = succeed("weight-silence-post", &arguments);
    assert!(log.contains("Done 6 posteriors."), "{log}");
    assert_eq!(folder.read("out"), std::fs::read_to_string(data("silpost.dist.post")).unwrap());
    // With weight 0, silence is gone, and a warning says so where there is no list.
    succeed("weight-silence-post", &["0.0", silence, &model, &posteriors, &to]);
    let (all, rest) = (std::fs::read_to_string(data("post")).unwrap_or_default(), folder.read("out"));
    assert_ne!(all, rest);
    let log = succeed("weight-silence-post", &["0.5", "", &model, &posteriors, &to]);
    assert!(log.contains("No silence phones"), "{log}");
    let bad = run("weight-silence-post", &["x", silence, &model, &posteriors, &to]);
    assert!(bad.status == 255 && bad.stderr.contains("expected float, got \"x\""), "{}", bad.stderr);

    succeed("get-post-on-ali", &[&posteriors, &ark(data("careful.ali")), &to]);
    assert_eq!(folder.read("out"), std::fs::read_to_string(data("postali")).unwrap());
}

/// Three utterances with their graphs, and a flat model of them with an equal alignment.
struct System {
    folder: Folder,
    graphs: String,
    feats: String,
    model: String,
    alignment: String,
}

const KEYS: [&str; 3] = ["100-1000-0000", "100-1000-0001", "100-1000-0002"];

impl System {
    #[track_caller]
    fn new(folder: Folder) -> System {
        let mut graphs = Vec::new();
        for (number, key) in KEYS.iter().enumerate() {
            graphs.extend(format!("{key} ").bytes());
            graphs.extend(std::fs::read(data(&format!("{}.fst", number + 1))).unwrap());
        }
        let graphs = ark(folder.write("graphs", graphs));
        let (feats, model) = (ark(data("feats.ark")), folder.path("0.mdl"));
        let log = succeed("gmm-init-model-flat", &[&data("tree"), &data("topo"), &model, &feats]);
        assert!(log.contains("Wrote model."), "{log}");
        let alignment = folder.path("equal.ali");
        let log = succeed("align-equal-compiled", &[&graphs, &feats, &format!("ark,t:{alignment}")]);
        assert!(log.contains("Success: done 3 utterances."), "{log}");
        System { folder, graphs, feats, model, alignment: ark(alignment) }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }

    /// Statistics by an alignment; returns the average log-likelihood.
    fn accumulate(&self, model: &str, feats: &str, alignment: &str, stats: &str) -> f64 {
        let log = succeed("gmm-acc-stats-ali", &[model, feats, alignment, stats]);
        assert!(log.contains("Done 3 files, 0 with errors."), "{log}");
        let average = log.split("(Gaussian only) = ").nth(1).unwrap();
        average.split(' ').next().unwrap().parse().unwrap()
    }

    /// A model of one update; its alignment.
    fn trained(&self) -> (String, String) {
        let (stats, model, alignment) = (self.path("0.acc"), self.path("1.mdl"), self.path("1.ali"));
        let before = self.accumulate(&self.model, &self.feats, &self.alignment, &stats);
        let options = ["--min-gaussian-occupancy=3", "--mix-up=140", "--power=0.25"];
        let log = succeed("gmm-est", &[&options[..], &[&self.model, &stats, &model]].concat());
        for sentence in ["TransitionModel::Update, objf change is ", "Split 124 states with target = 140"] {
            assert!(log.contains(sentence), "{log}");
        }
        let scales = ["--transition-scale=1.0", "--acoustic-scale=0.1", "--self-loop-scale=0.1"];
        let beams = ["--beam=10", "--retry-beam=40"];
        let to = format!("ark,t:{alignment}");
        let log = succeed(
            "gmm-align-compiled",
            &[&scales[..], &beams, &[&model, &self.graphs, &self.feats, &to]].concat(),
        );
        assert!(log.contains("Done 3, errors on 0"), "{log}");
        let after = self.accumulate(&model, &self.feats, &ark(&alignment), &self.path("1.acc"));
        assert!(after > before + 1.0, "{before} {after}");
        (model, ark(alignment))
    }
}

#[test]
fn equal_alignments_of_the_reference() {
    let system = System::new(Folder::new("equal"));
    assert_eq!(system.folder.read("equal.ali"), std::fs::read_to_string(data("equal.ali")).unwrap());
    let few = system.path("few");
    succeed("subsample-feats", &["--n=6", &system.feats, &ark(&few)]);
    let out = ark(system.path("out"));
    let output = run("align-equal-compiled", &[&system.graphs, &ark(few), &out]);
    assert_eq!(output.status, 1);
    let sentence = "Computed 0 alignments; 0 lacked features, 3 had other errors.";
    assert!(output.stderr.contains(sentence), "{}", output.stderr);
}

#[test]
fn statistics_and_updates() {
    let system = System::new(Folder::new("training"));
    let (model, alignment) = system.trained();
    let feats = &system.feats;
    let posteriors = ark(system.path("post"));
    succeed("ali-to-post", &[&alignment, &posteriors]);
    // The same statistics by four ways.
    let same = std::fs::read(system.path("1.acc")).unwrap();
    let (stats, none) = (system.path("stats"), system.path("none"));
    succeed("gmm-acc-stats", &[&model, feats, &posteriors, &stats]);
    assert!(std::fs::read(&stats).unwrap() == same);
    succeed("gmm-acc-stats-twofeats", &[&model, feats, feats, &posteriors, &stats]);
    assert!(std::fs::read(&stats).unwrap() == same);
    let log = succeed("gmm-acc-stats2", &[&model, feats, &posteriors, &stats, &none]);
    assert!(log.contains("average weight per frame was 1"), "{log}");
    let log = succeed("gmm-sum-accs", &[&stats, &stats, &stats]);
    assert!(log.contains("Summed 2 stats"), "{log}");
    let log = succeed("gmm-ismooth-stats", &["--tau=25", &stats, &stats, &none]);
    assert!(log.contains("Smoothed stats with tau = 25, count changed from 1154 to "), "{log}");

    let (boosted, text) = (system.path("boosted"), system.path("text"));
    let log = succeed("gmm-boost-silence", &["--boost=2", "1", &model, &boosted]);
    assert!(log.contains("Boosted weights for 5 pdfs, by factor of 2"), "{log}");
    succeed("gmm-copy", &["--binary=false", &boosted, &text]);
    let weights = |path: &str| read_model(path).1.pdfs()[0].weights().iter().sum::<f32>();
    assert!((weights(&text) - 2.0 * weights(&model)).abs() < 1e-4);
    let likes = ark(system.path("likes"));
    let log = succeed("gmm-compute-likes", &[&model, feats, &likes]);
    assert!(log.contains("computed likelihoods for 3 utterances."), "{log}");
    let dim = run("feat-to-dim", &[&likes, "-"]);
    assert_eq!(dim.stdout.trim(), "124");
    let gaussians = read_model(&model).1.num_gauss();
    assert!(gaussians > 124);
    assert!(run("gmm-info", &[&model]).stdout.contains(&format!("number of gaussians {gaussians}\n")));
}

#[test]
fn transforms_of_speakers() {
    let system = System::new(Folder::new("speakers"));
    let (model, alignment) = system.trained();
    let feats = &system.feats;
    let (posteriors, gposts) = (ark(system.path("post")), ark(system.path("gpost")));
    succeed("ali-to-post", &[&alignment, &posteriors]);
    let spk2utt = system.folder.write("spk2utt", format!("a {} {}\nb {}\n", KEYS[0], KEYS[1], KEYS[2]));
    let spk2utt = format!("--spk2utt=ark:{spk2utt}");
    let (transforms, again) = (system.path("trans"), system.path("trans2"));
    let options = ["--fmllr-min-count=100", &spk2utt];
    let log =
        succeed("gmm-est-fmllr", &[&options[..], &[&model, feats, &posteriors, &ark(&transforms)]].concat());
    assert!(log.contains("For speaker b, auxf-impr from fMLLR is "), "{log}");
    assert!(log.contains("Overall fMLLR auxf impr per frame is "), "{log}");
    succeed("gmm-post-to-gpost", &[&model, feats, &posteriors, &gposts]);
    let to = ark(&again);
    succeed("gmm-est-fmllr-gpost", &[&options[..], &[&model, feats, &gposts, &to]].concat());
    assert!(std::fs::read(&again).unwrap() == std::fs::read(&transforms).unwrap());
    // Transformed features fit the model better; the determinants of the transforms count too.
    let utt2spk = system.folder.write("utt2spk", format!("{} a\n{} a\n{} b\n", KEYS[0], KEYS[1], KEYS[2]));
    let adapted = ark(system.path("adapted"));
    let by_speaker = format!("--utt2spk=ark:{utt2spk}");
    let log = succeed("transform-feats", &[&by_speaker, &ark(&transforms), feats, &adapted]);
    let determinant = log.split("Overall average logdet is ").nth(1).unwrap();
    let determinant: f64 = determinant.split(' ').next().unwrap().parse().unwrap();
    let stats = system.path("stats");
    let before = system.accumulate(&model, feats, &alignment, &stats);
    let after = system.accumulate(&model, &adapted, &alignment, &stats) + determinant;
    assert!(after > before, "{before} {after}");

    let (scatter, basis) = (system.path("scatter"), system.path("basis"));
    let log = succeed("gmm-basis-fmllr-accs", &[&model, feats, &posteriors, &scatter]);
    assert!(log.contains("Done 3 files, 0 with no posts, 0 with other errors."), "{log}");
    let same = std::fs::read(&scatter).unwrap();
    succeed("gmm-basis-fmllr-accs-gpost", &[&model, feats, &gposts, &scatter]);
    assert!(std::fs::read(&scatter).unwrap() == same);
    let log = succeed("gmm-basis-fmllr-training", &[&model, &basis, &scatter]);
    assert!(log.contains("Generate 182 bases"), "{log}");
    let weights = format!("--write-weights=ark,t:{}", system.path("weights"));
    let to = ark(&transforms);
    let arguments = ["--fmllr-min-count=50", &weights, &spk2utt, &model, &basis, feats, &posteriors, &to];
    let log = succeed("gmm-est-basis-fmllr", &arguments);
    assert!(log.contains("For speaker a, auxf-impr from Basis fMLLR is "), "{log}");
    assert_eq!(system.folder.read("weights").lines().count(), 2);
    let to = ark(&again);
    let arguments = ["--fmllr-min-count=50", &spk2utt, &model, &basis, feats, &gposts, &to];
    succeed("gmm-est-basis-fmllr-gpost", &arguments);
    assert!(std::fs::read(&again).unwrap() == std::fs::read(&transforms).unwrap());

    let (macc, matrix, moved) = (system.path("macc"), system.path("mllt"), system.path("moved"));
    succeed("gmm-acc-mllt", &["--rand-prune=0", &model, feats, &posteriors, &macc]);
    let log = succeed("est-mllt", &[&matrix, &macc]);
    assert!(log.contains("Overall objective function improvement for MLLT is "), "{log}");
    succeed("gmm-transform-means", &[&matrix, &model, &moved]);
    let transformed = ark(system.path("transformed"));
    succeed("transform-feats", &[&matrix, feats, &transformed]);
    system.accumulate(&moved, &transformed, &alignment, &stats);
}

#[test]
fn gaussian_decoders_agree_on_lattices_and_words() {
    let system = System::new(Folder::new("decoding"));
    let (model, _) = system.trained();
    let (feats, graphs) = (&system.feats, &system.graphs);
    let (lattices, words, alignment) = (system.path("lat"), system.path("words"), system.path("ali"));
    let options = ["--beam=13", "--lattice-beam=6", "--acoustic-scale=0.1"];
    let tables = [model.as_str(), graphs, feats];
    let to = [ark(&lattices), format!("ark,t:{words}"), format!("ark,t:{alignment}")];
    let outputs: Vec<&str> = to.iter().map(String::as_str).collect();
    let log = succeed("gmm-latgen-faster", &[&options[..], &tables, &outputs].concat());
    assert!(log.contains("Done 3 utterances, failed for 0"), "{log}");
    let parallel = system.path("parallel");
    let log = succeed(
        "gmm-latgen-faster-parallel",
        &[&["--num-threads=2"], &options[..], &tables, &[&ark(&parallel)]].concat(),
    );
    assert!(log.contains("Decoded with 2 threads."), "{log}");
    assert!(std::fs::read(&parallel).unwrap() == std::fs::read(&lattices).unwrap());
    let simple = ["--beam=13", "--lattice-beam=6"];
    succeed("gmm-latgen-simple", &[&simple[..], &tables, &[&ark(&parallel)]].concat());

    // The new acoustic costs are the old ones.
    let (rescored, costs) = (ark(system.path("rescored")), system.path("costs"));
    let log = succeed("gmm-rescore-lattice", &[&model, &ark(&lattices), feats, &rescored]);
    assert!(log.contains("Done 3 lattices with errors on 0, #frames is 577"), "{log}");
    let costs_of = |lattices: &str| -> Vec<f32> {
        succeed(
            "nbest-to-linear",
            &[lattices, "ark:/dev/null", "ark:/dev/null", "ark:/dev/null", &format!("ark,t:{costs}")],
        );
        let text = std::fs::read_to_string(&costs).unwrap();
        text.lines().map(|line| line.split_once(' ').unwrap().1.trim().parse().unwrap()).collect()
    };
    let best = |lattices: &str| {
        let path = ark(system.path("best"));
        succeed("lattice-1best", &["--acoustic-scale=0.1", lattices, &path]);
        costs_of(&path)
    };
    assert_close(&best(&rescored), &best(&ark(&lattices)), 1e-5);

    let graph = data("1.fst");
    for program in ["gmm-decode-faster", "gmm-decode-simple"] {
        let output = run(program, &[&model, &graph, feats, &to[1], &to[2], &ark(&parallel)]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        assert!(
            output.stderr.contains("Log-like per frame for utterance 100-1000-0000 is "),
            "{}",
            output.stderr
        );
        assert!(system.folder.read("words").starts_with("100-1000-0000 "));
    }
}

#[test]
fn bad_input() {
    let system = System::new(Folder::new("bad"));
    let (model, alignment) = system.trained();
    let (feats, stats, out) = (&system.feats, system.path("1.acc"), system.path("out"));
    let fails = |program: &str, arguments: &[&str], words: &str| {
        let output = run(program, arguments);
        assert_eq!(output.status, 255, "{program} {arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(words), "{program} {arguments:?}: {}", output.stderr);
    };
    // Features and statistics of another dimension or another model.
    let wide = ark(system.path("wide"));
    succeed("add-deltas", &[feats, &wide]);
    let mismatch = "data dim = 39 vs. model dim = 13";
    fails("gmm-acc-stats-ali", &[&model, &wide, &alignment, &out], mismatch);
    let to = "ark:/dev/null";
    fails("gmm-align-compiled", &[&model, &system.graphs, &wide, to], mismatch);
    fails("gmm-latgen-faster", &[&model, &system.graphs, &wide, to], mismatch);
    fails("gmm-est", &[&data("init.mdl"), &stats, &out], "counts");
    fails("gmm-sum-accs", &[&out, &stats, &model], "expected");
    fails("gmm-est", &["--update-flags=mx", &model, &stats, &out], "found 'x'");
    fails("gmm-transform-means", &[&data("mllt.mat"), &model, &out], "40 rows but model has dimension 13");
    fails(
        "compose-transforms",
        &[&data("lda.mat"), &data("mllt.mat"), &out],
        "a has 91 columns and b has 40 rows",
    );
    let bad_beam = ["--beam=10", "--retry-beam=5", &model, &system.graphs, feats, to];
    fails("gmm-align-compiled", &bad_beam, "Beams do not make sense");
    fails("gmm-copy", &["--copy-tm=false", &model, &out], "expected");
    fails("gmm-boost-silence", &["1:1", &model, &out], "phones");
    let update_type = ["--fmllr-update-type=x", &model, feats, &alignment, to];
    fails("gmm-est-fmllr", &update_type, "Unknown fMLLR update type x");
    assert!(!Path::new(&out).exists(), "nothing was written");

    // Utterances without alignments are counted; the file is written all the same.
    let one = system.folder.write("one.ali", format!("{} 2 2 2\n", KEYS[0]));
    let output = run("gmm-acc-stats-ali", &[&model, feats, &ark(one), &out]);
    assert_eq!(output.status, 1);
    assert!(output.stderr.contains("Alignments has wrong size 3 vs. "), "{}", output.stderr);
    assert!(output.stderr.contains(&format!("No alignment for utterance {}", KEYS[1])), "{}", output.stderr);
    assert!(output.stderr.contains("Done 0 files, 3 with errors."), "{}", output.stderr);
    // Empty statistics leave one Gaussian a pdf.
    succeed("gmm-est", &[&model, &out, &out]);
    assert_eq!(read_model(&out).1.num_gauss(), 124);
}
