//! Chunked outputs against a slow calculation by hand, frame by frame.

use super::*;
use crate::execute::CachingCompiler;
use crate::execute::CompilerOptions;
use kaldi_io::DenseMatrix;
use nnet3_base::config::parse_config;
use nnet3_base::random::Random;
use nnet3_compiler::optimize::OptimizeOptions;
use nnet3_matrix::WeightForm;

/// A spliced linear layer. Tests read its parameters back to calculate by hand.
pub(super) fn network(config: &str) -> Nnet {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(3)).unwrap();
    nnet
}

pub(super) fn random_matrix(rows: usize, cols: usize, seed: i32) -> DenseMatrix<f32> {
    DenseMatrix { rows, cols, data: Random::new(seed).normal_vec(rows * cols, 0.0, 1.0) }
}

pub(super) fn forward(nnet: &Nnet, chunking: Chunking, scale: f32) -> Forward<'_> {
    let compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    Forward::new(nnet, &nnet3_matrix::cpu(), chunking, scale, compiler).unwrap()
}

pub(super) const SPLICED: &str = "
    component name=c type=LinearComponent input-dim=6 output-dim=3
    input-node name=input dim=2
    component-node name=c component=c input=Append(Offset(input, -3), input, Offset(input, 1))
    output-node name=output input=c";

pub(super) const WITH_IVECTOR: &str = "
    component name=c type=LinearComponent input-dim=4 output-dim=3
    input-node name=input dim=2
    input-node name=ivector dim=2
    component-node name=c component=c input=Append(Offset(input, 1), ReplaceIndex(ivector, t, 0))
    output-node name=output input=c";

/// `W · spliced` of each output frame, with frames repeated at the edges.
pub(super) fn by_hand(nnet: &Nnet, features: &DenseMatrix<f32>, offsets: &[i32], factor: usize) -> Vec<f32> {
    let params = nnet.components().next().unwrap().as_updatable().unwrap().vectorize();
    let mut out = Vec::new();
    for t in (0..features.rows).step_by(factor) {
        let frame = |o: &i32| (t as i32 + o).clamp(0, features.rows as i32 - 1) as usize;
        let spliced: Vec<f32> = offsets.iter().flat_map(|o| features.row(frame(o)).to_vec()).collect();
        out.extend(
            params.chunks(spliced.len()).map(|w| w.iter().zip(&spliced).map(|(a, b)| a * b).sum::<f32>()),
        );
    }
    out
}

pub(super) fn assert_close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= 1e-5 * (1.0 + y.abs()), "element {i}: {x} and {y}");
    }
}

#[test]
fn chunks_of_any_length_agree_with_a_calculation_by_hand() {
    let nnet = network(SPLICED);
    let features = random_matrix(23, 2, 1);
    for (frames_per_chunk, factor) in [(1, 1), (5, 1), (23, 1), (50, 1), (6, 3), (3, 3), (30, 3)] {
        let chunking = Chunking { frames_per_chunk, frame_subsampling_factor: factor, ..Default::default() };
        let mut forward = forward(&nnet, chunking, 1.0);
        let outputs = forward.compute(&features, Ivectors::None).unwrap();
        assert_eq!((outputs.rows, outputs.cols), (23_usize.div_ceil(factor as usize), 3));
        assert_close(&outputs.data, &by_hand(&nnet, &features, &[-3, 0, 1], factor as usize));
    }
}

#[test]
fn more_context_changes_nothing_here_and_the_scale_does() {
    let nnet = network(SPLICED);
    let features = random_matrix(12, 2, 2);
    let chunking = Chunking {
        frames_per_chunk: 5,
        extra_left_context: 7,
        extra_right_context_final: 4,
        ..Default::default()
    };
    let mut forward = forward(&nnet, chunking, 0.5);
    let outputs = forward.compute(&features, Ivectors::None).unwrap();
    let expected: Vec<f32> = by_hand(&nnet, &features, &[-3, 0, 1], 1).iter().map(|x| 0.5 * x).collect();
    assert_close(&outputs.data, &expected);
}

#[test]
fn ivectors_of_utterances_and_of_chunks() {
    let nnet = network(WITH_IVECTOR);
    let features = random_matrix(10, 2, 4);
    let chunking = Chunking { frames_per_chunk: 4, ..Default::default() };
    let mut forward = forward(&nnet, chunking, 1.0);
    let online = random_matrix(3, 2, 5);
    // The middles of the chunks 0..4, 4..8 and 8..10 are at 1, 5 and 8.
    let row_of = |t: usize, period: usize| [1, 5, 8][t / 4] / period;
    let with_ivectors = |row: &dyn Fn(usize) -> Vec<f32>| {
        let rows: Vec<Vec<f32>> = (0..10).map(|t| [features.row((t + 1).min(9)), &row(t)].concat()).collect();
        by_hand(&nnet, &DenseMatrix::from_rows(&rows), &[0], 1)
    };

    let outputs = forward.compute(&features, Ivectors::Utterance(&[0.5, -2.0])).unwrap();
    assert_close(&outputs.data, &with_ivectors(&|_| vec![0.5, -2.0]));
    for period in [3, 4] {
        let outputs = forward.compute(&features, Ivectors::Online { matrix: &online, period }).unwrap();
        assert_close(&outputs.data, &with_ivectors(&|t| online.row(row_of(t, period)).to_vec()));
    }

    let short = random_matrix(1, 2, 5);
    let error =
        |period| forward_error(&nnet, &random_matrix(200, 2, 6), Ivectors::Online { matrix: &short, period });
    assert!(error(10).contains("no i-vector for frame"), "{}", error(10));
    assert!(error(0).contains("online-ivector-period"));
}

fn forward_error(nnet: &Nnet, features: &DenseMatrix<f32>, ivectors: Ivectors<'_>) -> String {
    forward(nnet, Chunking::default(), 1.0).compute(features, ivectors).unwrap_err().to_string()
}

#[test]
fn dimensions_are_checked() {
    let plain = network(SPLICED);
    let ivector = network(WITH_IVECTOR);
    let features = random_matrix(4, 2, 7);
    let error = forward_error(&plain, &random_matrix(4, 3, 7), Ivectors::None);
    assert!(error.contains("'input' has dimension 2") && error.contains("3 columns"), "{error}");
    assert!(forward_error(&plain, &features, Ivectors::Utterance(&[1.0])).contains("no such input-node"));
    assert!(forward_error(&ivector, &features, Ivectors::Utterance(&[1.0])).contains("dimension 2"));
    assert!(forward_error(&ivector, &features, Ivectors::None).contains("nothing is given"));
}

/// A network with all component types that have arranged weights, with remainders of panels and tiles. The TDNN's
/// filter has enough rows only in the longest utterance.
const ARRANGED: &str = "
    component name=a type=NaturalGradientAffineComponent input-dim=6 output-dim=70
    component name=f type=FixedAffineComponent input-dim=70 output-dim=66
    component name=t type=TdnnComponent input-dim=66 output-dim=65 time-offsets=-3,0,3
    component name=u type=TdnnComponent input-dim=65 output-dim=49 time-offsets=0,1 use-bias=false
    component name=l type=LinearComponent input-dim=49 output-dim=5
    input-node name=input dim=2
    component-node name=a component=a input=Append(Offset(input, -3), input, Offset(input, 1))
    component-node name=f component=f input=a
    component-node name=t component=t input=f
    component-node name=u component=u input=t
    component-node name=l component=l input=Sum(u, Offset(u, -1))
    output-node name=output input=l";

/// Chunks, streams and filters with 8-bit weights must give the outputs of a network with the rounded weights, up to
/// the rounding of their inputs. The component that reads the input keeps its weights.
#[test]
fn weights_of_eight_bits_give_nearly_the_same_outputs() {
    let device = nnet3_matrix::cpu();
    let plain = network(ARRANGED);
    let mut rounded = plain.clone();
    rounded.round_weights();
    let parameters = |nnet: &Nnet, name: &str| {
        let id = nnet.find_component(name).unwrap();
        nnet.component(id).as_updatable().unwrap().parameters()[0].value.to_vec()
    };
    assert_eq!(parameters(&plain, "a"), parameters(&rounded, "a"));
    assert_ne!(parameters(&plain, "t"), parameters(&rounded, "t"));
    let mut int8 = plain.clone();
    int8.arrange_weights(&device, WeightForm::Int8);
    for (frames_per_chunk, factor, frames) in [(50, 1, 90), (21, 3, 61), (600, 1, 600)] {
        let chunking = Chunking { frames_per_chunk, frame_subsampling_factor: factor, ..Default::default() };
        let streaming =
            Streaming { frames_per_chunk, frame_subsampling_factor: factor, extra_left_context_initial: 0 };
        let features = random_matrix(frames, 2, frames as i32);
        let outputs = |nnet: &Nnet| {
            forward(nnet, chunking.clone(), 1.0).compute(&features, Ivectors::None).unwrap().data
        };
        let mut looped =
            LoopedForward::new(int8.clone(), &device, &streaming, 1.0, &OptimizeOptions::default()).unwrap();
        let expected = outputs(&rounded);
        let norm =
            |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x * x)).sum::<f64>().sqrt();
        let size = norm(&mut expected.iter().copied());
        let error = |found: &[f32]| {
            assert_eq!(found.len(), expected.len());
            norm(&mut expected.iter().zip(found).map(|(a, b)| a - b)) / size
        };
        let found = [outputs(&int8), looped.compute(&features, Ivectors::None).unwrap().data];
        for found in found {
            let error = error(&found);
            assert!((1e-5..0.03).contains(&error), "{frames_per_chunk}: {error}");
        }
        assert!(error(&outputs(&plain)) < 0.03, "{frames_per_chunk}");
    }
}

/// A model of Gaussians, with features that are far from zero: no device and no form rounds its likelihoods.
#[test]
fn gaussians_stay_exact() {
    let plain = network(
        "
    component name=features type=FixedAffineComponent input-dim=6 output-dim=6
    component name=squares type=ElementwiseProductComponent input-dim=12 output-dim=6
    component name=gaussians type=FixedAffineComponent input-dim=12 output-dim=70
    component name=best type=MaxpoolingComponent input-x-dim=70 input-y-dim=1 input-z-dim=1 pool-x-size=10 \
     pool-y-size=1 pool-z-size=1 pool-x-step=10 pool-y-step=1 pool-z-step=1
    input-node name=input dim=2
    component-node name=features component=features input=Append(Offset(input, -1), input, Offset(input, 1))
    component-node name=squares component=squares input=Append(features, features)
    component-node name=gaussians component=gaussians input=Append(features, squares)
    component-node name=best component=best input=gaussians
    output-node name=output input=best",
    );
    assert!(!plain.is_trained());
    let mut features = random_matrix(40, 2, 3);
    features.data.iter_mut().for_each(|x| *x = 30.0 + 10.0 * *x);
    let outputs = |nnet: &Nnet, device: &nnet3_matrix::Device| {
        let streaming =
            Streaming { frames_per_chunk: 20, frame_subsampling_factor: 1, extra_left_context_initial: 0 };
        let mut looped =
            LoopedForward::new(nnet.clone(), device, &streaming, 1.0, &OptimizeOptions::default()).unwrap();
        looped.compute(&features, Ivectors::None).unwrap().data
    };
    let floats = nnet3_matrix::cpu();
    let expected = outputs(&plain, &floats);
    let mut rounded = plain.clone();
    rounded.round_weights();
    assert_eq!(outputs(&rounded, &floats), expected);
    for device in [floats, nnet3_matrix::cpu::cpu_with_plain_bf16()] {
        for form in [WeightForm::Float, WeightForm::Int8] {
            let mut arranged = plain.clone();
            arranged.arrange_weights(&device, form);
            let found = outputs(&arranged, &device);
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 2e-5 * a.abs();
            assert!(
                found.len() == expected.len() && expected.iter().zip(&found).all(close),
                "{form:?}: {expected:?} {found:?}"
            );
        }
    }
}

#[test]
fn arranged_weights_give_the_same_outputs() {
    let device = nnet3_matrix::cpu();
    let plain = network(ARRANGED);
    let mut arranged = plain.clone();
    arranged.arrange_weights(&device, WeightForm::Float);
    assert_eq!(arranged.num_parameters(), 0, "parameters are not kept beside the arranged weights");
    let error = kaldi_io::KaldiWriter::create("/dev/null", true)
        .map(|mut w| arranged.write(&mut w).unwrap_err().to_string())
        .unwrap();
    assert!(error.contains("cannot be written"), "{error}");
    let scaled = |expected: &DenseMatrix<f32>, found: &[f32]| {
        let size = expected.data.iter().fold(0.0f32, |size, x| size.max(x.abs()));
        let both = expected.data.iter().zip(found);
        assert!(both.clone().all(|(a, b)| (a - b).abs() <= 2e-5 * size), "{both:?}");
        assert_eq!(expected.data.len(), found.len());
    };
    for (frames_per_chunk, factor, lengths) in
        [(50, 1, [1, 7, 90]), (21, 3, [2, 40, 61]), (600, 1, [5, 23, 600])]
    {
        let chunking = Chunking { frames_per_chunk, frame_subsampling_factor: factor, ..Default::default() };
        let streaming =
            Streaming { frames_per_chunk, frame_subsampling_factor: factor, extra_left_context_initial: 0 };
        let options = OptimizeOptions::default();
        let mut looped = LoopedForward::new(arranged.clone(), &device, &streaming, 1.0, &options).unwrap();
        for frames in lengths {
            let features = random_matrix(frames, 2, frames as i32);
            let expected = forward(&plain, chunking.clone(), 1.0).compute(&features, Ivectors::None).unwrap();
            let found = forward(&arranged, chunking.clone(), 1.0).compute(&features, Ivectors::None).unwrap();
            scaled(&expected, &found.data);
            let found = looped.compute(&features, Ivectors::None).unwrap();
            scaled(&expected, &found.data);
        }
    }
}
