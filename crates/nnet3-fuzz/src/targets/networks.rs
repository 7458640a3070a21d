//! Requests, computations, networks, configs and descriptors.

use super::{both, reader};
use kaldi_io::KaldiWriter;
use nnet3_core::component::registry;
use nnet3_core::computation::Computation;
use nnet3_core::config::parse_config;
use nnet3_core::descriptor::{normal, parse};
use nnet3_core::index::NodeId;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_core::request::{ComputationRequest, IoSpecification};

fn a_request() -> ComputationRequest {
    ComputationRequest {
        inputs: vec![IoSpecification::new("input", 2, -1..3, true)],
        outputs: vec![IoSpecification::new("output", 2, 0..2, true)],
        need_model_derivative: true,
        store_component_stats: false,
    }
}

pub fn read_request(input: &[u8]) {
    let _ = ComputationRequest::read(&mut reader(input));
}

pub fn corpus_requests() -> Vec<Vec<u8>> {
    both(|w| a_request().write(w).expect("in memory"))
}

pub fn read_computation(input: &[u8]) {
    let _ = Computation::read(&mut reader(input));
}

/// Networks of different shapes, as configs.
pub const NETWORKS: [&str; 4] = [
    "input-node name=input dim=3
component name=a type=NaturalGradientAffineComponent input-dim=9 output-dim=4
component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 1))
component name=relu type=RectifiedLinearComponent dim=4
component-node name=relu component=relu input=a
output-node name=output input=relu objective=linear
",
    "input-node name=input dim=3
component name=a type=TdnnComponent input-dim=3 output-dim=4 time-offsets=-1,0,1
component-node name=a component=a input=input
component name=bn type=BatchNormComponent dim=4
component-node name=bn component=bn input=Sum(a, IfDefined(Offset(bn, -1)))
dim-range-node name=part input-node=bn dim-offset=1 dim=2
output-node name=output input=part
",
    "input-node name=input dim=4
component name=c type=TimeHeightConvolutionComponent num-filters-in=2 num-filters-out=1 height-in=2 height-out=2 time-offsets=-1,0,1 height-offsets=-1,0,1 required-time-offsets=0
component-node name=c component=c input=input
component name=x type=StatisticsExtractionComponent input-dim=2 input-period=1 output-period=2
component-node name=x component=x input=c
component name=p type=StatisticsPoolingComponent input-dim=5 input-period=2 left-context=4 right-context=4 num-log-count-features=0 output-stddevs=true
component-node name=p component=p input=x
output-node name=output input=Round(p, 2)
",
    "input-node name=input dim=4
component name=d type=DropoutComponent dim=4 dropout-proportion=0.1
component-node name=d component=d input=Sum(Scale(0.5, input), Const(1.0, 4))
component name=l type=LogSoftmaxComponent dim=4
component-node name=l component=l input=d
output-node name=output input=Switch(l, d) objective=quadratic
",
];

/// Makes a network, whose parameters are random, from the lines of a config.
pub fn network(config: &str) -> Nnet {
    let mut nnet = Nnet::default();
    let lines = parse_config("corpus", config.lines()).expect("a config");
    nnet.read_config(lines, &Random::new(1)).expect("a network");
    nnet
}

pub fn corpus_computations() -> Vec<Vec<u8>> {
    let compiled = |config: &&str| {
        let nnet = network(config);
        let mut request = a_request();
        request.inputs[0] = IoSpecification::new("input", 2, -6..8, true);
        let computation = nnet3_core::compile::compile(&nnet, &[request]).expect("it can be computed");
        both(|w| computation.write(w).expect("in memory"))
    };
    NETWORKS.iter().flat_map(compiled).collect()
}

pub fn read_model(input: &[u8]) {
    if let Ok(nnet) = Nnet::read(&mut reader(input)) {
        let mut w = KaldiWriter::in_memory(true);
        nnet.write(&mut w).expect("in memory");
    }
}

/// Networks with every component type.
pub fn corpus_models() -> Vec<Vec<u8>> {
    let alone = registry::types().map(|t| {
        let line = format!("component name=a type={} {}", t.name, t.example);
        network(&format!("input-node name=input dim=1\n{line}\noutput-node name=output input=input\n"))
    });
    let nnets: Vec<Nnet> = NETWORKS.iter().map(|config| network(config)).chain(alone).collect();
    nnets.iter().flat_map(|nnet| both(|w| nnet.write(w).expect("in memory"))).collect()
}

/// Config lines may ask for any size; this target does not test that, and skips long numbers.
pub fn read_config(input: &[u8]) {
    let long_number = |bytes: &[u8]| bytes.iter().filter(|b| b.is_ascii_digit()).count() > 3;
    if input.split(|b| !b.is_ascii_alphanumeric() && *b != b'.').any(long_number) {
        return;
    }
    let text = String::from_utf8_lossy(input);
    if let Ok(lines) = parse_config("input", text.lines()) {
        let _ = Nnet::default().read_config(lines, &Random::new(1));
    }
}

pub fn corpus_configs() -> Vec<Vec<u8>> {
    let alone = registry::types().map(|t| format!("component name=a type={} {}\n", t.name, t.example));
    NETWORKS.iter().map(|config| config.to_string()).chain(alone).map(String::into_bytes).collect()
}

pub fn read_descriptor(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let nodes = |name: &str| name.bytes().next().map(|first| NodeId(u32::from(first % 8)));
    if let Ok(expr) = parse::parse(&text, &nodes) {
        let _ = normal::normalize(expr);
    }
}

pub fn corpus_descriptors() -> Vec<Vec<u8>> {
    [
        "Append(Offset(a, -1), b, Offset(a, 1, 2))",
        "Sum(a, Scale(0.5, IfDefined(Offset(b, -3))), Const(1.0, 40))",
        "Failover(Round(a, 3), ReplaceIndex(b, t, 0))",
        "Switch(a, Sum(b, a), Offset(a, 1))",
        "Append(Sum(Append(a, b), Append(b, a)), ReplaceIndex(a, x, 1))",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}
