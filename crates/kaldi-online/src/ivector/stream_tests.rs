use std::num::NonZero;

use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::{OnlineCmvn, OnlineCmvnOptions};
use kaldi_feat::{frames, transform};
use kaldi_gmm::DiagGmm;
use kaldi_io::testing::from_text;
use kaldi_io::{DenseMatrix, KaldiObject, write_object};
use kaldi_ivector::{IvectorExtractor, OnlineStats, Weights, testing};
use nalgebra::{DMatrix, DVector};

use super::*;
use crate::ivector::{IvectorFiles, IvectorOptions, Splice};

const DIM: usize = 3;
const REDUCED: usize = 2;
const GAUSSIANS: usize = 4;
const IVECTOR: usize = 5;
const SPLICE: Splice = Splice { left: 2, right: 1 };

fn matrix(rows: usize, cols: usize, seed: u64) -> DenseMatrix<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    DenseMatrix { rows, cols, data: (0..rows * cols).map(|_| 2.0 * random.f32() - 1.0).collect() }
}

fn random(gaussians: usize, rows: usize, cols: usize, seed: u64) -> IvectorExtractor {
    let mut random = fastrand::Rng::with_seed(seed);
    testing::extractor((gaussians, rows, cols), &mut || f64::from(random.i32(-6..=6)) / 4.0)
}

fn mixture(gaussians: usize, dim: usize) -> DiagGmm {
    let rows = |values: DenseMatrix<f32>| {
        let rows = values.data.chunks(dim).map(|row| row.iter().map(|x| format!("{x} ")).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    };
    let mut inverses = matrix(gaussians, dim, 8);
    inverses.data.iter_mut().for_each(|x| *x += 1.5);
    from_text(&format!(
        "<DiagGMM> <WEIGHTS> [ {} ] <MEANS_INVVARS> [ {} ]\n<INV_VARS> [ {} ]\n</DiagGMM> ",
        "0.25 ".repeat(gaussians),
        rows(matrix(gaussians, dim, 7)),
        rows(inverses)
    ))
    .unwrap()
}

/// The parts of a small model, the features of which have dimension 3.
pub(crate) struct Parts {
    lda: DenseMatrix<f32>,
    global: CmvnStats,
    mixture: DiagGmm,
    extractor: IvectorExtractor,
    options: IvectorOptions,
}

impl Parts {
    pub fn new(options: IvectorOptions) -> Self {
        let mut global = CmvnStats::new(DIM);
        global.add(&matrix(50, DIM, 9), None).unwrap();
        Parts {
            lda: matrix(REDUCED, DIM * 4 + 1, 3),
            global,
            mixture: mixture(GAUSSIANS, REDUCED),
            extractor: random(GAUSSIANS, REDUCED, IVECTOR, 4),
            options,
        }
    }

    /// Writes the parts to files, and reads the model.
    pub fn model(&self) -> Result<Arc<IvectorModel>> {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ivector-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let name = |file: &str| folder.join(file).to_str().unwrap().to_owned();
        let files = IvectorFiles {
            lda_matrix: name("final.mat"),
            global_cmvn_stats: name("global_cmvn.stats"),
            diag_ubm: name("final.dubm"),
            ivector_extractor: name("final.ie"),
        };
        fn write<T: KaldiObject>(name: &str, object: &T) {
            write_object(name, true, object).unwrap();
        }
        write(&files.lda_matrix, &self.lda);
        write(&files.global_cmvn_stats, &self.global.to_matrix());
        write(&files.diag_ubm, &self.mixture);
        write(&files.ivector_extractor, &self.extractor);
        let threads = NonZero::<usize>::MIN;
        let model =
            IvectorModel::read(&files, SPLICE, OnlineCmvnOptions::default(), self.options.clone(), threads);
        std::fs::remove_dir_all(&folder).unwrap();
        model.map(Arc::new)
    }

    /// Posteriors by the definition: the best few Gaussians, without those far below the best or small.
    fn posteriors(&self, frame: &[f32], weight: f64) -> Vec<(usize, f64)> {
        let least = (f64::from(self.options.min_post) / weight.abs()).min(0.99);
        let density = |g: usize| {
            let (means, inverses) = (self.mixture.means_invvars(), self.mixture.inv_vars());
            let exponent = |d: usize| {
                let (x, inverse) = (f64::from(frame[d]), f64::from(inverses.get(g, d)));
                let distance = x - f64::from(means.get(g, d)) / inverse;
                0.5 * (inverse / (2.0 * std::f64::consts::PI)).ln() - 0.5 * inverse * distance.powi(2)
            };
            0.25 * (0..REDUCED).map(exponent).sum::<f64>().exp()
        };
        let mut all: Vec<(usize, f64)> = (0..GAUSSIANS).map(|g| (g, density(g))).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let best = all[0].1;
        all.retain(|(_, density)| *density > best * least);
        all.truncate(self.options.num_gselect);
        let total = |all: &[(usize, f64)]| all.iter().map(|p| p.1).sum::<f64>();
        let limit = least * total(&all);
        while all.len() > 1 && all[all.len() - 1].1 < limit {
            all.pop();
        }
        let total = total(&all);
        all.into_iter().map(|(g, density)| (g, density / total)).collect()
    }

    /// The i-vector of weighted frames of an utterance, by an exact solution.
    fn exact(&self, cmvn: &mut OnlineCmvn, features: &DenseMatrix<f32>, weights: &[f64]) -> Vec<f64> {
        let reduced = |features: &DenseMatrix<f32>| {
            transform::apply(&frames::splice(features, SPLICE.left, SPLICE.right).unwrap(), &self.lda)
                .unwrap()
        };
        let (normalized, plain) = (reduced(&cmvn.normalize(features).unwrap()), reduced(features));
        let counted = if self.options.normalized_statistics { &normalized } else { &plain };
        let mut linear = DVector::<f64>::zeros(IVECTOR);
        let mut quadratic = DMatrix::<f64>::zeros(IVECTOR, IVECTOR);
        let mut count = 0.0;
        for (t, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            let x = DVector::from_iterator(REDUCED, counted.row(t).iter().map(|&x| f64::from(x)));
            for (g, posterior) in self.posteriors(normalized.row(t), weight) {
                let m = DMatrix::from_row_slice(REDUCED, IVECTOR, &self.extractor.projections[g].data);
                let inverse = &self.extractor.inverse_covariances[g];
                let inverse = DMatrix::from_fn(REDUCED, REDUCED, |i, j| inverse.get(i, j));
                let weight = posterior * f64::from(self.options.posterior_scale) * weight;
                linear += m.transpose() * &inverse * &x * weight;
                quadratic += m.transpose() * inverse * m * weight;
                count += weight;
            }
        }
        let (offset, limit) = (self.extractor.prior_offset, f64::from(self.options.max_count));
        let prior = if limit > 0.0 { f64::max(count, limit) / limit } else { 1.0 };
        linear[0] += prior * offset;
        quadratic += DMatrix::identity(IVECTOR, IVECTOR) * prior;
        let mut out = quadratic.lu().solve(&linear).unwrap();
        out[0] -= offset;
        out.as_slice().to_vec()
    }

    fn cmvn(&self) -> OnlineCmvn {
        OnlineCmvn::new(OnlineCmvnOptions::default(), self.global.clone()).unwrap()
    }
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f64]) {
    let close = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() < 1e-3 * (1.0 + b.abs());
    assert!(found.iter().zip(expected).all(close), "{found:?} {expected:?}");
}

fn ones(frames: usize, total: usize) -> Vec<f64> {
    (0..total).map(|t| if t < frames { 1.0 } else { 0.0 }).collect()
}

#[test]
fn estimates_are_those_of_all_frames_up_to_one() {
    let features = matrix(23, DIM, 5);
    let settings = [(0.0, false, 5), (0.25, false, 2), (0.5, true, 3), (0.1, false, 1)];
    for (max_count, normalized_statistics, num_gselect) in settings {
        let options = IvectorOptions {
            max_count,
            normalized_statistics,
            num_gselect,
            period: 4,
            most_recent: false,
            ..IvectorOptions::default()
        };
        let parts = Parts::new(options);
        let mut stream =
            IvectorStream::new(parts.model().unwrap(), parts.model().unwrap().new_speaker()).unwrap();
        for t in 0..23 {
            stream.accept(features.row(t)).unwrap();
            assert_eq!(stream.ready(), t.saturating_sub(SPLICE.right - 1));
        }
        assert!(stream.ivector(22).unwrap_err().to_string().contains("22 frames are ready"));
        stream.finish();
        for t in 0..23 {
            let expected = parts.exact(&mut parts.cmvn(), &features, &ones(t / 4 * 4 + 1, 23));
            assert_near(&stream.ivector(t).unwrap(), &expected);
        }
        // And what lies behind stays.
        let expected = parts.exact(&mut parts.cmvn(), &features, &ones(9, 23));
        assert_near(&stream.ivector(11).unwrap(), &expected);
        let diagnostics = stream.diagnostics();
        assert!((diagnostics.frames - 23.0).abs() < 1e-3 && diagnostics.improvement > 0.0, "{diagnostics:?}");
        assert_eq!(diagnostics.exact_solutions, 0);
    }
}

#[test]
fn most_recent_and_greedy_estimates() {
    let features = matrix(20, DIM, 6);
    for greedy in [false, true] {
        let parts = Parts::new(IvectorOptions { greedy, ..IvectorOptions::default() });
        let model = parts.model().unwrap();
        let mut stream = IvectorStream::new(model.clone(), model.new_speaker()).unwrap();
        (0..12).for_each(|t| stream.accept(features.row(t)).unwrap());
        let after = |frames| parts.exact(&mut parts.cmvn(), &features, &ones(frames, 20));
        assert_near(&stream.ivector(5).unwrap(), &after(if greedy { 11 } else { 6 }));
        assert_near(&stream.ivector(3).unwrap(), &after(if greedy { 11 } else { 6 }));
        (12..20).for_each(|t| stream.accept(features.row(t)).unwrap());
        stream.finish();
        assert_near(&stream.ivector(7).unwrap(), &after(if greedy { 20 } else { 8 }));
        assert_near(&stream.ivector(19).unwrap(), &after(20));
    }
}

#[test]
fn changes_of_weights_lead_to_the_last_weights() {
    let features = matrix(16, DIM, 7);
    // Without a limit to posteriors a change does not depend on the weight before it.
    let parts = Parts::new(IvectorOptions { min_post: 0.0, num_gselect: 3, ..IvectorOptions::default() });
    let model = parts.model().unwrap();
    let mut stream = IvectorStream::new(model.clone(), model.new_speaker()).unwrap();
    (0..8).for_each(|t| stream.accept(features.row(t)).unwrap());
    stream.change_weights((0..10).map(|t| (t, 1.0))).unwrap();
    let weights = |list: &[f64]| [list, &vec![0.0; 16 - list.len()]].concat();
    let exact = |list: &[f64]| parts.exact(&mut parts.cmvn(), &features, &weights(list));
    assert_near(&stream.ivector(6).unwrap(), &exact(&[1.0; 7]));
    (8..16).for_each(|t| stream.accept(features.row(t)).unwrap());
    stream.finish();
    // Frames become silence, one counts more, one was never there; the frames of before are changed with the next one.
    stream.change_weights([(2, -0.75), (3, -0.5), (3, -0.5), (5, 0.5), (10, 1.0), (12, 0.25)]).unwrap();
    assert_near(&stream.ivector(6).unwrap(), &exact(&[1.0; 7]));
    let mut last = vec![1.0, 1.0, 0.25, 0.0, 1.0, 1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.25];
    assert_near(&stream.ivector(15).unwrap(), &exact(&last));
    // Everything is taken back: nothing is known.
    let mut stream = IvectorStream::new(model.clone(), model.new_speaker()).unwrap();
    (0..16).for_each(|t| stream.accept(features.row(t)).unwrap());
    last.resize(15, 0.0);
    stream.change_weights(last.iter().enumerate().map(|(t, &weight)| (t, weight as f32))).unwrap();
    stream.ivector(13).unwrap();
    stream.change_weights(last.iter().enumerate().map(|(t, &weight)| (t, -weight as f32))).unwrap();
    assert!(stream.ivector(14).unwrap().iter().all(|x| x.abs() < 1e-3));
    // No weights, and then some.
    let mut stream = IvectorStream::new(model.clone(), model.new_speaker()).unwrap();
    (0..16).for_each(|t| stream.accept(features.row(t)).unwrap());
    stream.ivector(3).unwrap();
    assert!(stream.change_weights([(4, 1.0)]).is_err());
}

#[test]
fn small_weights_need_fewer_gaussians() {
    let features = matrix(9, DIM, 8);
    let parts = Parts::new(IvectorOptions { min_post: 0.1, ..IvectorOptions::default() });
    let model = parts.model().unwrap();
    for weight in [1.0, 0.3, 0.05, 2.0] {
        let mut stream = IvectorStream::new(model.clone(), model.new_speaker()).unwrap();
        (0..9).for_each(|t| stream.accept(features.row(t)).unwrap());
        stream.finish();
        stream.change_weights((0..9).map(|t| (t, weight as f32))).unwrap();
        let expected = parts.exact(&mut parts.cmvn(), &features, &[weight; 9]);
        assert_near(&stream.ivector(8).unwrap(), &expected);
    }
}

/// The frames of several utterances count as those of one, but for normalisation, which goes on too.
#[test]
fn what_is_known_goes_to_the_next_utterance() {
    let utterances = [matrix(14, DIM, 1), matrix(3, DIM, 2), matrix(11, DIM, 3)];
    let options = IvectorOptions { posterior_scale: 1.0, max_count: 6.0, ..IvectorOptions::default() };
    for remembered in [1000.0, 10.0, 0.0] {
        let parts = Parts::new(IvectorOptions { max_remembered_frames: remembered, ..options.clone() });
        let model = parts.model().unwrap();
        let mut state = model.new_speaker();
        let mut counts = Vec::new();
        for features in &utterances {
            let mut stream = IvectorStream::new(model.clone(), state).unwrap();
            (0..features.rows).for_each(|t| stream.accept(features.row(t)).unwrap());
            stream.finish();
            stream.ivector(features.rows - 1).unwrap();
            counts.push(stream.diagnostics().frames);
            state = stream.adaptation_state();
        }
        let expected = match remembered {
            1000.0 => [14.0, 17.0, 28.0],
            10.0 => [14.0, 13.0, 21.0],
            _ => [14.0, 3.0, 11.0],
        };
        assert!(counts.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3), "{counts:?}");
        let known = f64::from(remembered).min(28.0);
        let speaker = state.cmvn.speaker.as_ref().unwrap();
        assert!((state.stats.count() - known.min(counts[2])).abs() < 1e-3);
        assert!((speaker.count - known.min(counts[2])).abs() < 1e-3, "{}", speaker.count);
        if remembered == 0.0 {
            // Nothing but the prior is left.
            let new = model.new_speaker().stats;
            let mut ivector = vec![1.0; IVECTOR];
            new.estimate(15, &mut ivector);
            let mut other = vec![2.0; IVECTOR];
            state.stats.estimate(15, &mut other);
            assert_eq!(ivector, other);
        }
    }
    // A state of another model.
    let parts = Parts::new(options);
    let model = parts.model().unwrap();
    let mut state = model.new_speaker();
    state.stats = OnlineStats::new(IVECTOR + 1, 1.0, 0.0);
    let error = IvectorStream::new(model, state).unwrap_err().to_string();
    assert!(error.contains("dimension 6 and features of 3, expected 5 and 3"), "{error}");
}

#[test]
fn parts_that_do_not_fit() {
    let refused = |change: &dyn Fn(&mut Parts), words: &[&str]| {
        let mut parts = Parts::new(IvectorOptions::default());
        change(&mut parts);
        let error = parts.model().unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    refused(
        &|parts| parts.lda = matrix(REDUCED, 11, 1),
        &["final.mat: expected 12 columns", "global_cmvn.stats has dimension 3", "found a matrix of 2×11"],
    );
    refused(
        &|parts| parts.lda = matrix(REDUCED + 1, 12, 1),
        &["final.dubm: expected Gaussians of dimension 3", "found dimension 2"],
    );
    refused(
        &|parts| parts.extractor = random(GAUSSIANS + 1, REDUCED, IVECTOR, 1),
        &["final.ie: expected 4 Gaussians of dimension 2", "found 5 of dimension 2"],
    );
    refused(
        &|parts| {
            let data = vec![0.25; GAUSSIANS * IVECTOR];
            let w = DenseMatrix { rows: GAUSSIANS, cols: IVECTOR, data };
            parts.extractor.weights = Weights::Regression(w);
        },
        &["final.ie: weights that depend on the i-vector cannot be used online"],
    );
    refused(&|parts| parts.lda.data[3] = f32::NAN, &["final.mat: found a number that is not finite"]);
    refused(
        &|parts| parts.global.count = 0.0,
        &["global_cmvn.stats: the count of the global statistics is 0"],
    );
    for (change, words) in [
        ((|o| o.period = 0) as fn(&mut IvectorOptions), "ivector-period=0"),
        (|o| o.num_gselect = 0, "num-gselect=0"),
        (|o| o.min_post = 0.5, "min-post=0.5"),
        (|o| o.posterior_scale = 0.0, "posterior-scale=0"),
        (|o| o.max_count = -1.0, "max-count=-1"),
        (|o| o.max_remembered_frames = f32::NAN, "max-remembered-frames=NaN"),
    ] {
        refused(&|parts| change(&mut parts.options), &[words, "expected"]);
    }
}
