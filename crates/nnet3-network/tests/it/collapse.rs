//! Compares the outputs of small random networks before and after.

use kaldi_io::DenseMatrix;
use nnet3_base::config::parse_config;
use nnet3_base::random::Random;
use nnet3_compiler::compile::compile;
use nnet3_compiler::graph::FrameContext;
use nnet3_compiler::request::{ComputationRequest, IoSpecification};
use nnet3_core::execute::{Executor, Model, Program};
use nnet3_core::run_request::{NamedMatrices, run_request};
use nnet3_network::Nnet;
use nnet3_network::collapse::{CollapseOptions, CollapseReport};
use std::sync::Arc;

const ALL: CollapseOptions = CollapseOptions::ALL;

fn network(config: &str) -> Nnet {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(11)).unwrap();
    nnet
}

fn features(frames: usize, nnet: &Nnet) -> DenseMatrix<f32> {
    let cols = nnet.input_dim("input").unwrap();
    DenseMatrix { rows: frames, cols, data: Random::new(5).normal_vec(frames * cols, 0.5, 2.0) }
}

/// Outputs of 17 frames.
fn outputs(nnet: &Nnet) -> Vec<f32> {
    let request = nnet.ordinary_request(1, 17, 1, false).unwrap();
    let computation = compile(nnet, std::slice::from_ref(&request)).unwrap();
    let program = Arc::new(Program::new(nnet, computation).unwrap());
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    let inputs = [("input".to_string(), features(request.inputs[0].indexes.len(), nnet))].into();
    let (none, random) = (NamedMatrices::default(), Random::new(0));
    let mut found = run_request(nnet, &request, &program, &mut executor, &inputs, &none, &random).unwrap();
    found.outputs.remove("output").unwrap().data
}

/// Collapses and checks that outputs stay within rounding. Returns the types of the components that are left.
fn check(mut nnet: Nnet, options: &CollapseOptions) -> (Nnet, Vec<&'static str>) {
    let before = outputs(&nnet);
    nnet.collapse(options).unwrap();
    nnet.check().unwrap();
    let after = outputs(&nnet);
    let norm =
        |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let difference = norm(&mut before.iter().zip(&after).map(|(a, b)| a - b));
    let whole = norm(&mut before.iter().copied());
    assert!(whole > 0.1 && difference <= 1e-5 * whole, "{difference} of {whole}");
    let types = nnet.components().map(|c| c.type_name()).collect();
    (nnet, types)
}

/// Gives batch normalisation statistics of its own input, and sets test mode.
fn with_statistics(mut nnet: Nnet) -> Nnet {
    let features = features(40, &nnet);
    let inputs = vec![IoSpecification::new("input", 1, 0..40, false)];
    let outputs = vec![IoSpecification::new("output", 1, 10..30, false)];
    let request = ComputationRequest { inputs, outputs, store_component_stats: true, ..Default::default() };
    let computation = compile(&nnet, &[request]).unwrap();
    let program = Arc::new(Program::new(&nnet, computation).unwrap());
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    executor.start(&program).unwrap();
    executor.accept_input(&nnet, "input", 40, features.cols, &features.data).unwrap();
    executor.run(&mut Model::Statistics(&mut nnet), &Random::new(0)).unwrap();
    nnet.set_batchnorm_test_mode(true);
    nnet
}

#[test]
fn recipe_like_network() {
    let nnet = network(
        "component name=lda type=FixedAffineComponent input-dim=9 output-dim=9
         component name=first type=NaturalGradientAffineComponent input-dim=9 output-dim=8
         component name=relu type=RectifiedLinearComponent dim=8
         component name=last type=NaturalGradientAffineComponent input-dim=16 output-dim=5
         component name=prior type=FixedScaleComponent dim=5
         component name=softmax type=LogSoftmaxComponent dim=5
         input-node name=input dim=3
         component-node name=lda component=lda input=Append(Offset(input, -1), input, Offset(input, 1))
         component-node name=first component=first input=lda
         component-node name=relu component=relu input=first
         component-node name=last component=last input=Append(Offset(relu, -3), relu)
         component-node name=prior component=prior input=last
         component-node name=softmax component=softmax input=prior
         output-node name=output input=softmax",
    );
    let (collapsed, types) = check(nnet, &CollapseOptions::default());
    assert_eq!(collapsed.component_names(), ["relu", "softmax", "lda.first", "last.prior"]);
    assert_eq!(types[2..], ["AffineComponent", "NaturalGradientAffineComponent"]);
    assert!(collapsed.find_node("lda").is_none() && collapsed.find_node("last_input").is_none());
    assert_eq!(
        collapsed.node_lines(false)[1],
        "component-node name=first component=lda.first input=Append(Offset(input, -1), input, Offset(input, 1))"
    );
}

#[test]
fn appended_copies_with_offsets() {
    let nnet = network(
        "component name=a type=AffineComponent input-dim=4 output-dim=6
         component name=b type=NaturalGradientAffineComponent input-dim=18 output-dim=5
         input-node name=input dim=2
         component-node name=a component=a input=Append(input, Offset(input, 2))
         component-node name=b component=b input=Append(Offset(a, -2), a, Offset(a, 1))
         output-node name=output input=b",
    );
    let (collapsed, types) = check(nnet, &CollapseOptions::default());
    assert_eq!(types, ["AffineComponent"]);
    let input =
        "Append(Offset(input, -2), input, input, Offset(input, 2), Offset(input, 1), Offset(input, 3))";
    assert_eq!(collapsed.node_lines(false)[1], format!("component-node name=b component=a.b input={input}"));
}

#[test]
fn chains_and_uses_elsewhere() {
    let nnet = network(
        "component name=a type=AffineComponent input-dim=2 output-dim=3
         component name=b type=AffineComponent input-dim=3 output-dim=3
         component name=c type=AffineComponent input-dim=3 output-dim=4
         input-node name=input dim=2
         component-node name=c2 component=c input=b2
         component-node name=b2 component=b input=Offset(a2, 1)
         component-node name=a2 component=a input=input
         component-node name=a1 component=a input=input
         component-node name=b1 component=b input=Offset(a1, -1)
         component-node name=c1 component=c input=b1
         dim-range-node name=part input-node=a1 dim=2 dim-offset=1
         output-node name=output input=Append(c1, c2, part)",
    );
    let (collapsed, _) = check(nnet, &CollapseOptions::default());
    // `part` still reads a; the two chains are merged in different orders, to the same component.
    assert_eq!(collapsed.component_names(), ["a", "a.b.c"]);
    assert_eq!(collapsed.num_nodes(), 9);
}

#[test]
fn batch_normalisation() {
    let bn = "component name=relu type=RectifiedLinearComponent dim=6
         component name=bn type=BatchNormComponent dim=6 block-dim=3 target-rms=0.5
         input-node name=input dim=6
         component-node name=relu component=relu input=input
         component-node name=bn component=bn input=relu
         component-node name=next component=next input=";
    for (next, input, new_type) in [
        ("NaturalGradientAffineComponent input-dim=6", "bn", "NaturalGradientAffineComponent"),
        ("AffineComponent input-dim=12", "Append(Offset(bn, -1), bn)", "AffineComponent"),
        ("LinearComponent input-dim=12", "Append(bn, Offset(bn, 3))", "AffineComponent"),
        ("TdnnComponent time-offsets=-1,0,2 input-dim=6", "bn", "TdnnComponent"),
        ("TdnnComponent time-offsets=-1,0 use-bias=false input-dim=6", "bn", "TdnnComponent"),
    ] {
        let text = format!(
            "component name=next type={next} output-dim=5\n{bn}{input}\noutput-node name=output input=next"
        );
        let nnet = with_statistics(network(&text));
        let (collapsed, types) = check(nnet.clone(), &ALL);
        assert_eq!(collapsed.component_names(), ["relu", "bn.next"], "{next}");
        assert_eq!(types[1], new_type);

        let (_, types) = check(nnet.clone(), &CollapseOptions::default());
        assert_eq!(types.len(), 3, "not by default");
        let mut training = nnet;
        training.set_batchnorm_test_mode(false);
        assert!(training.collapse(&ALL).unwrap_err().to_string().contains("'bn' must be in test mode"));
    }
}

#[test]
fn dropout() {
    let cases = [
        ("DropoutComponent dim=6 dropout-proportion=0.2", "next.scale0.8"),
        ("DropoutComponent dim=6 dropout-proportion=0", "next"),
        ("GeneralDropoutComponent dim=6 dropout-proportion=0.2", "next"),
    ];
    let nexts = [
        ("NaturalGradientAffineComponent input-dim=12 output-dim=5", "Append(Offset(drop, -1), drop)"),
        ("LinearComponent input-dim=6 output-dim=5", "drop"),
        ("TdnnComponent time-offsets=-1,0,2 input-dim=6 output-dim=5", "drop"),
        (
            "TimeHeightConvolutionComponent num-filters-in=2 num-filters-out=3 height-in=3 height-out=3 \
             height-offsets=-1,0,1 time-offsets=-1,0,1 required-time-offsets=0",
            "drop",
        ),
    ];
    for (drop, name) in cases {
        for (next, input) in nexts {
            let mut nnet = network(&format!(
                "component name=drop type={drop}
                 component name=next type={next}
                 input-node name=input dim=6
                 component-node name=drop component=drop input=input
                 component-node name=next component=next input={input}
                 output-node name=output input=next"
            ));
            nnet.set_dropout_test_mode(true);
            let (collapsed, _) = check(nnet.clone(), &ALL);
            assert_eq!(collapsed.component_names(), [name]);
            assert_eq!(check(nnet, &CollapseOptions::default()).1.len(), 2, "not by default");
        }
    }
}

#[test]
fn what_stays() {
    let nnet = network(
        "component name=narrow type=AffineComponent input-dim=4 output-dim=2
         component name=wide type=AffineComponent input-dim=2 output-dim=4
         component name=same type=AffineComponent input-dim=4 output-dim=4
         component name=scale type=FixedScaleComponent dim=4
         input-node name=input dim=4
         component-node name=narrow component=narrow input=input
         component-node name=wide component=wide input=narrow
         component-node name=scaled component=same input=Scale(0.5, wide)
         component-node name=summed component=same input=Sum(scaled, Offset(scaled, 1))
         component-node name=defined component=same input=Sum(Const(1, 4), IfDefined(Offset(summed, -1)))
         output-node name=output input=defined",
    );
    let bytes = |nnet: &Nnet| {
        let mut w = kaldi_io::KaldiWriter::in_memory(true);
        nnet.write(&mut w).unwrap();
        w.into_bytes()
    };
    let mut plain = nnet.clone();
    let report = plain.collapse(&ALL).unwrap();
    assert_eq!(report, CollapseReport { added_components: 0, removed_components: 1, removed_nodes: 0 });
    let (again, types) = check(plain.clone(), &ALL);
    assert_eq!(types, ["AffineComponent"; 3]);
    assert_eq!(bytes(&plain), bytes(&again));
}
