//! Wrong xconfigs. The error names file, line, layer and key, and describes the correct form.

use nnet3_xconfig::{Config, ExistingNode, Problem, expand};

const HEAD: &str = "# a network\ninput name=input dim=40\n";

fn error(line: &str) -> String {
    let text = format!("{HEAD}{line}\noutput name=output input=input\n");
    match expand("net.xconfig", &text, Vec::new()) {
        Ok(_) => panic!("no error for {line}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn place_layer_key_and_value() {
    assert_eq!(
        error("relu-layer name=tdnn1 dim=five"),
        "net.xconfig:3: relu-layer 'tdnn1': dim=five: expected integer\n  in the line: relu-layer name=tdnn1 dim=five"
    );
}

#[test]
fn what_would_be_right() {
    let cases = [
        ("rellu-layer name=a", "unknown layer type 'rellu-layer'; did you mean 'relu-layer'?"),
        ("existing name=a", "unknown layer type 'existing'"),
        ("relu-layer dim=3", "relu-layer: key 'name' is required"),
        (
            "relu-layer name=a dims=3",
            "key 'dims' is not known to this layer type; did you mean 'dim'?; its keys are input, dim,",
        ),
        ("relu-layer name=1a", "name=1a: expected a letter or _"),
        ("relu-layer name=input", "name=input: expected a name that no layer before has"),
        (
            "relu-layer name=a input=imput",
            "input=imput: there is no layer 'imput' before this one; did you mean 'input'?",
        ),
        ("relu-layer name=a input=output", "there is no layer 'output' before this one"),
        (
            "relu-layer name=a input=Append(Ofset(input, -1), input)",
            "there is no operator 'Ofset'; did you mean 'Offset'?",
        ),
        (
            "relu-layer name=a input=append(input, input)",
            "there is no operator 'append'; did you mean 'Append'?",
        ),
        ("relu-layer name=a input=Mean(input, input)", "there is no operator 'Mean'"),
        ("relu-layer name=a input=Append(input, input", "expected ',' or ')' at the end"),
        ("relu-layer name=a input=Sum(input, Const(1, 39))", "different dimensions: 40 and 39"),
        ("relu-layer name=a input=input.c", "layer 'input' has no output 'c'"),
        ("relu-layer name=a input=Const(1,-5)", "it has -5 columns"),
        (
            "tdnnf-layer name=a bottleneck-dim=8",
            "tdnnf-layer 'a': key 'dim' is required: expected dim=<integer>",
        ),
        ("tdnnf-layer name=a dim=40 bottleneck-dim=40", "dim=40: expected more than bottleneck-dim=40"),
        (
            "tdnnf-layer name=a dim=50 bottleneck-dim=4",
            "bypass-scale=0.66: expected 0, as dim=50 differs from the input dimension 40",
        ),
        (
            "tdnnf-layer name=a dim=40 bottleneck-dim=4 context=both",
            "expected default, left-only, shift-left or none",
        ),
        ("tdnnf-layer name=a dim=40 bottleneck-dim=4 dropout-proportion=1.0", "expected less than 1"),
        ("input name=a", "key 'dim' is required"),
        ("input name=a dim=0", "dim=0: expected a positive integer"),
        ("input name=a dim=2000000000", "dim=2000000000: expected integer"),
        ("relu-layer name=a dim=9 bottleneck-dim=9", "smaller than dim=9"),
        ("relu-layer name=a add-log-stddev=true", "add-log-stddev=True: expected false"),
        ("relu-layer name=a add-log-stddev=yes", "add-log-stddev=yes: expected true or false"),
        ("relu-layer name=a learning-rate-factor=0", "expected a positive number"),
        ("output-layer name=a dim=5 objective-type=cubic", "expected linear or quadratic"),
        (
            "fixed-affine-layer name=a",
            "key 'affine-transform-file' is required: expected affine-transform-file=<text>",
        ),
        ("fixed-affine-layer name=a affine-transform-file=", "key 'affine-transform-file' is required"),
        ("stats-layer name=a config=mean(-10:3:9:10)", "expected left and right to be multiples"),
        ("stats-layer name=a config=median(-9:3:9:9)", "config=median(-9:3:9:9): expected mean, mean+stddev"),
        (
            "conv-layer name=a height-in=7 height-out=7 num-filters-out=2",
            "height-in=7: expected a divisor of the input dimension 40",
        ),
        (
            "conv-layer name=a height-in=40 height-out=40 num-filters-out=2 height-offsets=0 time-offsets=1,0",
            "time-offsets=1,0: expected ascending integers",
        ),
        (
            "conv-layer name=a height-in=40 height-out=20 num-filters-out=2 height-offsets=0 time-offsets=0",
            "height-out=20: expected more",
        ),
        (
            "res2-block name=a num-filters=2",
            "height=-1: expected a positive integer, or positive height-in and height-out",
        ),
        ("res2-block name=a num-filters=2 height-in=40 height-out=20", "time-period=1: expected even"),
        ("lstm-layer name=a delay=0", "delay=0: expected an integer that is not 0"),
        ("lstm-layer name=a delay=-3 decay-time=2", "decay-time=2.0: expected more than the delay, 3"),
        ("lstmp-layer name=a", "key 'cell-dim' is required"),
        (
            "lstmp-layer name=a cell-dim=32 recurrent-projection-dim=20",
            "with non-recurrent-projection-dim at most cell-dim=32",
        ),
        (
            "dim-range-component name=a input=input@1 dim=3",
            "expected one layer, without offsets or operators",
        ),
        ("dim-range-component name=a dim=30 dim-offset=11", "dim-offset=11: expected at most 10"),
        (
            "combine-feature-maps-layer name=a height=10 num-filters1=2 num-filters2=1",
            "2 + 1 + 0 filters to be the input dimension 40",
        ),
        ("channel-average-layer name=a dim=7", "dim=7: expected a divisor of the input dimension 40"),
        ("relu-layer name=a input='input'", "double quotes"),
    ];
    for (line, message) in cases {
        let error = error(line);
        assert!(error.contains(message), "{line}\n  {error}\n  {message}");
        assert!(error.starts_with("net.xconfig:3: ") && error.ends_with(line), "{error}");
    }
}

#[test]
fn the_problem_is_a_value() {
    let Err(nnet3_xconfig::Error::Line { line, problem, .. }) = expand("f", "\nrelu-lay name=x", Vec::new())
    else {
        panic!("expected an error of a line");
    };
    assert_eq!(line, 2);
    assert_eq!(*problem, Problem::UnknownType { found: "relu-lay".into(), near: Some("relu-layer".into()) });
}

#[test]
fn whole_files() {
    let error = |text: &str| expand("f", text, Vec::new()).err().unwrap().to_string();
    assert!(error("# nothing\n\n").starts_with("f: no layer"));
    assert!(error("input name=input dim=4").starts_with("f: no layer of type output"));
    assert!(error("relu-layer name=a").contains("there is no layer before this one"));
}

#[test]
fn outputs_of_the_network_are_not_inputs() {
    let output = |line: &str| {
        let text = format!("{HEAD}output-layer name=output dim=5\noutput name=raw input=input\n{line}");
        expand("f", &text, Vec::new()).map(|network| network.config(Config::Final).unwrap())
    };
    let error = output("relu-layer name=a input=output").unwrap_err().to_string();
    assert!(error.contains("; output.affine and output.log-softmax can"), "{error}");
    let error = output("relu-layer name=a").unwrap_err().to_string();
    assert!(error.contains("'raw' is an output of the network and cannot be an input"), "{error}");
    assert!(output("output name=b input=output.affine").is_ok());
}

/// The reference accepts these outputs in its list of names and then fails, or writes no node for them.
#[test]
fn cells_of_recurrent_layers_are_outputs() {
    let projected = "cell-dim=32 recurrent-projection-dim=8";
    for (layer_type, keys, cell, node) in [
        ("lstm-layer", "cell-dim=32", "c_t", "a.c_t"),
        ("lstmp-layer", projected, "c_t", "a.c_t"),
        ("fast-lstm-layer", "cell-dim=32", "c", "a.c"),
        ("fast-lstmp-layer", projected, "c_t", "a.c"),
        ("norm-pgru-layer", projected, "h_t", "a.h_t"),
        ("opgru-layer", projected, "h_t", "a.h_t"),
        ("fast-pgru-layer", projected, "c_t", "a.c_t"),
        ("fast-norm-opgru-layer", projected, "c_t", "a.c_t"),
    ] {
        let text = format!(
            "{HEAD}{layer_type} name=a {keys}\nrelu-layer name=b input=a.{cell}@-1\noutput name=output"
        );
        let network = expand("f", &text, Vec::new()).unwrap();
        let config = network.config(Config::Final).unwrap();
        let input = format!("component-node name=b.affine component=b.affine input=Offset({node}, -1)");
        assert!(config.contains(&input), "{config:?}");
        let dim = "component name=b.affine type=NaturalGradientAffineComponent input-dim=32 output-dim=32";
        assert!(config.iter().any(|line| line.starts_with(dim)), "{config:?}");
        let is_node = |line: &&String| line.split(' ').nth(1) == Some(&*format!("name={node}"));
        let nodes = config.iter().filter(is_node).filter(|line| line.contains("-node ")).count();
        assert_eq!(nodes, 1, "{layer_type}");
    }
}

#[test]
fn keys_that_the_reference_loses() {
    let config = |line: &str| {
        let text = format!("{HEAD}{line}\noutput name=output");
        expand("f", &text, Vec::new()).unwrap().config(Config::Final).unwrap()[1].clone()
    };
    assert_eq!(
        config("relu-layer name=a learning-rate-factor=0.5 dim=3"),
        "component name=a.affine type=NaturalGradientAffineComponent input-dim=40 output-dim=3 max-change=0.75 \
         learning-rate-factor=0.5"
    );
    assert_eq!(
        config(
            "affine-layer name=a dim=3 param-stddev=0.5 learning-rate-factor=2 ng-affine-options=\"rank-in=5\""
        ),
        "component name=a type=NaturalGradientAffineComponent input-dim=40 output-dim=3 param-stddev=0.5 \
         bias-stddev=1.0 bias-mean=0.0 max-change=0.75 l2-regularize=0.0 learning-rate-factor=2.0 rank-in=5"
    );
}

#[test]
fn existing_nodes() {
    let existing = || {
        let node = |name: &str, dim| ExistingNode { name: name.into(), dim };
        vec![node("input", 40), node("tdnn1.relu", 64), node("output", 10)]
    };
    let text = "relu-layer name=new input=Append(tdnn1.relu@-1, input) dim=8\noutput-layer name=output dim=5";
    let config = expand("f", text, existing()).unwrap().config(Config::Final).unwrap();
    assert!(config[0].contains(" input-dim=104 output-dim=8 "), "{}", config[0]);
    assert!(config[1].ends_with(" input=Append(Offset(tdnn1.relu, -1), input)"), "{}", config[1]);
    assert_eq!(config.last().unwrap(), "output-node name=output input=output.log-softmax objective=linear");
    // Existing nodes are no layers before.
    let error = expand("f", "relu-layer name=new", existing()).err().unwrap().to_string();
    assert!(error.contains("there is no layer before this one"), "{error}");
    // A layer of the network is named by its nodes.
    let error = expand("f", "relu-layer name=new input=tdnn1", existing()).err().unwrap().to_string();
    assert!(
        error.contains("no layer 'tdnn1' before this one; did you mean the node 'tdnn1.relu'?"),
        "{error}"
    );
    // A wrong node of a layer: all that it has, the last one first, rather than the most similar letters.
    let node = |name: &str| ExistingNode { name: name.into(), dim: 40 };
    let layer =
        || ["input", "tdnn1.affine", "tdnn1.relu", "tdnn1.batchnorm", "tdnn10.relu"].map(node).to_vec();
    let error = expand("f", "relu-layer name=new input=tdnn1.renorm", layer()).err().unwrap().to_string();
    let expected = "there is no node 'tdnn1.renorm'; the existing network has of 'tdnn1', the last one first: \
                    tdnn1.batchnorm, tdnn1.relu, tdnn1.affine";
    assert!(error.contains(expected) && !error.contains("tdnn10"), "{error}");
}
