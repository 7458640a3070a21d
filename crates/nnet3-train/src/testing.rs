//! Small networks and examples for the tests of this crate.

use crate::example::{NnetExample, NnetIo};
use kaldi_io::{DenseMatrix, SparseMatrix, SparseVector};
use nnet3_core::config::parse_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;

/// The network of these config lines, the same every time.
pub fn network(config: &str) -> Nnet {
    let mut nnet = Nnet::default();
    let lines = parse_config("test", config.lines()).expect("a config");
    nnet.read_config(lines, &Random::new(17)).expect("a network");
    nnet
}

/// One plain affine component `a` between input and output.
pub(crate) fn affine_network(input_dim: usize, output_dim: usize) -> Nnet {
    network(&format!(
        "component name=a type=AffineComponent input-dim={input_dim} output-dim={output_dim}\n\
         input-node name=input dim={input_dim}\n\
         component-node name=a component=a input=input\n\
         output-node name=output input=a objective=quadratic"
    ))
}

/// Two layers with context, batch norm and a log-softmax, plain gradients.
pub(crate) fn classifier() -> Nnet {
    network(
        "component name=a type=AffineComponent input-dim=6 output-dim=5 learning-rate=0.01\n\
         component name=r type=RectifiedLinearComponent dim=5\n\
         component name=b type=BatchNormComponent dim=5\n\
         component name=c type=AffineComponent input-dim=5 output-dim=3 learning-rate=0.01\n\
         component name=s type=LogSoftmaxComponent dim=3\n\
         input-node name=input dim=2\n\
         component-node name=a component=a input=Append(Offset(input,-1), input, Offset(input,1))\n\
         component-node name=r component=r input=a\n\
         component-node name=b component=b input=r\n\
         component-node name=c component=c input=b\n\
         component-node name=s component=s input=c\n\
         output-node name=output input=s",
    )
}

/// `sequences` chunks of four output frames for [`classifier`]; targets have weights different from one.
pub fn minibatch(sequences: usize, seed: i32) -> NnetExample {
    let random = Random::new(seed);
    let examples = (0..sequences).map(|_| {
        let input = DenseMatrix { rows: 6, cols: 2, data: random.normal_vec(12, 0.0, 1.0) };
        let row = || {
            let pairs = vec![(random.int(0, 2), 0.5 + random.uniform())];
            SparseVector::new(3, pairs).expect("in range")
        };
        let targets = SparseMatrix { rows: (0..4).map(|_| row()).collect() };
        NnetExample {
            ios: vec![NnetIo::new("input", input.into(), -1, 1), NnetIo::new("output", targets.into(), 0, 1)],
        }
    });
    crate::merge::merge(examples.collect(), false).expect("equal structures")
}

/// The parameters of all components, one after another.
pub fn parameters(nnet: &Nnet) -> Vec<f32> {
    nnet.components().filter_map(|c| c.as_updatable()).flat_map(|u| u.vectorize()).collect()
}

/// Changes the parameters of each component.
pub(crate) fn with_parameters(nnet: &mut Nnet, mut change: impl FnMut(&mut [f32])) {
    for component in nnet.components_mut() {
        if let Some(updatable) = component.as_updatable_mut() {
            let mut parameters = updatable.vectorize();
            change(&mut parameters);
            updatable.unvectorize(&parameters);
        }
    }
}
