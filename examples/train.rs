//! Trains a tiny network to tell which half of a circle a point is in: `train model.raw`.

use std::error::Error;

use nnet3_toolkit::network::{
    CachingCompiler, Chunking, GroupedForward, Ivectors, OutputScaling, Random, cpu, parse_config,
};
use nnet3_toolkit::training::{Event, NnetExample, NnetIo, TrainerOptions, merge};
use nnet3_toolkit::{Matrix, Network, Trainer};

const CONFIG: &str = "input-node name=input dim=2
component name=affine type=AffineComponent input-dim=2 output-dim=2 learning-rate=0.05
component-node name=affine component=affine input=input
component name=log-softmax type=LogSoftmaxComponent dim=2
component-node name=log-softmax component=log-softmax input=affine
output-node name=output input=log-softmax";

/// Frames of an example.
const FRAMES: usize = 8;

/// Points, and for each frame the targets of both classes.
fn example(random: &Random) -> NnetExample {
    let points = Matrix { rows: FRAMES, cols: 2, data: random.normal_vec(2 * FRAMES, 0.0, 1.0) };
    let targets: Vec<[f32; 2]> = (0..FRAMES)
        .map(|i| match points.row(i)[1] > points.row(i)[0] {
            true => [1.0, 0.0],
            false => [0.0, 1.0],
        })
        .collect();
    let targets = Matrix::from_rows(&targets);
    let ios = vec![NnetIo::new("input", points.into(), 0, 1), NnetIo::new("output", targets.into(), 0, 1)];
    NnetExample { ios }
}

/// Trains on `minibatches` of 16 examples. Returns the network, and the mean log-probability of the classes in the first and
/// in the last minibatch.
pub fn train(minibatches: usize) -> Result<(Network, [f64; 2]), Box<dyn Error>> {
    let random = Random::new(1);
    let mut network = Network::default();
    network.read_config(parse_config("config", CONFIG.lines())?, &random)?;
    let mut values = Vec::new();
    let mut report = |event: Event| {
        if let Event::Objective { value, .. } = event {
            values.push(value.objective / value.weight);
        }
    };
    let mut trainer = Trainer::new(network, TrainerOptions::default(), &cpu(), 0)?;
    for _ in 0..minibatches {
        let examples = (0..16).map(|_| example(&random)).collect();
        trainer.train(&merge(examples, false)?, &mut report)?;
    }
    let network = trainer.finish(&mut report)?.nnet;
    match (values.first(), values.last()) {
        (Some(&first), Some(&last)) => Ok((network, [first, last])),
        _ => Err("expected at least one minibatch".into()),
    }
}

/// Returns the outputs of a network for an utterance, a row a frame.
pub fn outputs(network: &Network, features: &Matrix<f32>) -> Result<Matrix<f32>, Box<dyn Error>> {
    let compiler = CachingCompiler::new(Default::default(), Default::default());
    let (chunking, scaling) = (Chunking::default(), OutputScaling::from(1.0));
    let mut forward = GroupedForward::new(network, &cpu(), chunking, scaling, compiler, 1)?;
    forward.accept(features, Ivectors::None)?;
    forward.finish()?;
    forward.next_output().ok_or_else(|| "the utterance has no frames".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file] = &arguments[..] else { return Err("expected the name of the network".into()) };
    let (network, [first, last]) = train(200)?;
    println!("log-probability of the classes: {first:.3} at first, {last:.3} at last");
    println!("{:?}", outputs(&network, &Matrix::from_rows(&[[0.0, 1.0]]))?.row(0));
    Ok(network.save(file, true)?)
}
