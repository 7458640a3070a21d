//! Random networks: computations after passes and shortcut must give the results of the plain one.
//!
//! NNET3_RANDOM_NETWORKS=N tries N of them, from NNET3_RANDOM_SEED on; 1000 by default.

use crate::computations::support::*;
use crate::computations::variants::option_variants;
use nnet3_core::Index;
use nnet3_core::check::{CheckOptions, check};
use nnet3_core::compile::compile;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::request::{ComputationRequest, IoSpecification};

const DEFAULT_COUNT: u64 = 1000;

struct Generator {
    rng: fastrand::Rng,
    config: String,
    /// Nodes that descriptors may name, with their dimensions.
    nodes: Vec<(String, usize)>,
    count: usize,
    recurrent: bool,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut rng = fastrand::Rng::with_seed(seed);
        let dim = rng.usize(2..7);
        let mut nodes = vec![("input".to_string(), dim)];
        let mut config = format!("input-node name=input dim={dim}\n");
        if rng.u8(..4) == 0 {
            config += "input-node name=ivector dim=3\n";
            nodes.push(("ivector".to_string(), 3));
        }
        Generator { rng, config, nodes, count: 0, recurrent: false }
    }

    fn chance(&mut self, one_in: u8) -> bool {
        self.rng.u8(..one_in) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(..from.len())]
    }

    /// A node, recent ones more often.
    fn node(&mut self) -> (String, usize) {
        let last = self.nodes.len() - 1;
        let back = if self.chance(3) { self.rng.usize(..=last) } else { self.rng.usize(..=last.min(1)) };
        self.nodes[last - back].clone()
    }

    /// A forwarding descriptor of one node, somewhere in time.
    fn forwarding(&mut self, name: &str) -> String {
        if name == "ivector" {
            return "ReplaceIndex(ivector, t, 0)".to_string();
        }
        let offset = self.rng.i32(-3..4);
        let moved = if self.chance(2) { name.to_string() } else { format!("Offset({name}, {offset})") };
        match self.rng.u8(..14) {
            0 => format!("Round({moved}, {})", self.rng.i32(1..4)),
            1 => format!("Scale(-0.5, {moved})"),
            2 => format!("Switch({moved}, {name})"),
            _ => moved,
        }
    }

    /// A sum or one term; all terms of one dimension.
    fn sum(&mut self) -> (String, usize) {
        let (name, dim) = self.node();
        let first = self.forwarding(&name);
        let same: Vec<String> =
            self.nodes.iter().filter(|n| n.1 == dim && n.0 != "ivector").map(|n| n.0.clone()).collect();
        let other = |g: &mut Generator| match same.is_empty() {
            true => "Const(0.25, 3)".to_string(),
            false => {
                let name = same[g.rng.usize(..same.len())].clone();
                g.forwarding(&name)
            }
        };
        let text = match self.rng.u8(..10) {
            0 => format!("Sum({first}, {})", other(self)),
            1 => format!("Sum({first}, Sum({}, {}))", other(self), other(self)),
            2 => format!("Sum({first}, IfDefined({}))", other(self)),
            3 => format!("Failover({}, {first})", other(self)),
            _ => first,
        };
        (text, dim)
    }

    fn descriptor(&mut self) -> (String, usize) {
        let parts = if self.chance(3) { self.rng.usize(2..4) } else { 1 };
        let terms: Vec<(String, usize)> = (0..parts).map(|_| self.sum()).collect();
        let dim = terms.iter().map(|t| t.1).sum();
        let texts: Vec<String> = terms.into_iter().map(|t| t.0).collect();
        (if parts == 1 { texts.concat() } else { format!("Append({})", texts.join(", ")) }, dim)
    }

    /// A component node `name` with this input.
    fn add(&mut self, name: &str, keys: &str, input: &str, dim: usize) {
        self.config += &format!(
            "component name={name} {keys}\ncomponent-node name={name} component={name} input={input}\n"
        );
        self.nodes.push((name.to_string(), dim));
    }

    fn layer(&mut self) {
        self.count += 1;
        let name = format!("l{}", self.count);
        let (input, dim) = self.descriptor();
        let out = self.rng.usize(2..8);
        match self.rng.u8(..20) {
            0..3 => self.affine(&name, &input, dim, out),
            3 => {
                let offsets = self.pick(&["-1,0,1", "0,2", "-2,0", "0", "-3,3"]);
                let keys =
                    format!("type=TdnnComponent input-dim={dim} output-dim={out} time-offsets={offsets}");
                self.add(&name, &keys, &input, out)
            }
            4..8 => {
                let repairs = " self-repair-scale=0";
                let (kind, keys) = self.pick(&[
                    ("RectifiedLinear", repairs),
                    ("Sigmoid", repairs),
                    ("Tanh", repairs),
                    ("LogSoftmax", ""),
                    ("Softmax", ""),
                    ("NoOp", ""),
                ]);
                self.add(&name, &format!("type={kind}Component dim={dim}{keys}"), &input, dim)
            }
            8 => self.add(&name, &format!("type=NormalizeComponent dim={dim}"), &input, dim),
            9 => self.add(&name, &format!("type=BatchNormComponent dim={dim} epsilon=0.1"), &input, dim),
            10 => self.add(&name, &format!("type=PerElementScaleComponent dim={dim}"), &input, dim),
            11 => {
                self.affine(&format!("{name}-in"), &input, dim, out);
                let previous = format!("IfDefined(Offset({name}, {}))", self.pick(&[-1, -2, -3, 1]));
                let sum = format!("Sum({name}-in, {previous})");
                self.recurrent = true;
                self.add(&name, &format!("type=TanhComponent dim={out} self-repair-scale=0"), &sum, out)
            }
            12 => {
                self.affine(&format!("{name}-in"), &input, dim, 2 * out);
                let keys = format!("type=ElementwiseProductComponent input-dim={} output-dim={out}", 2 * out);
                self.add(&name, &keys, &format!("{name}-in"), out)
            }
            13 if dim > 2 => {
                let (first, size) = (self.rng.usize(..2), self.rng.usize(1..dim - 1));
                self.add(&format!("{name}-in"), &format!("type=NoOpComponent dim={dim}"), &input, dim);
                self.config += &format!(
                    "dim-range-node name={name} input-node={name}-in dim-offset={first} dim={size}\n"
                );
                self.nodes.push((name, size));
            }
            14 => {
                self.affine(&format!("{name}-in"), &input, dim, 2);
                let extraction =
                    "type=StatisticsExtractionComponent input-dim=2 input-period=1 output-period=2";
                self.add(&format!("{name}-stats"), extraction, &format!("{name}-in"), 5);
                let keys = "type=StatisticsPoolingComponent input-dim=5 input-period=2 left-context=4 right-context=2";
                let pooling = format!("{keys} num-log-count-features=0 output-stddevs={}", self.chance(2));
                self.nodes.pop();
                self.config += &format!(
                    "component name={name}-pool {pooling}\n\
                     component-node name={name}-pool component={name}-pool input={name}-stats\n"
                );
                let keys = "type=NoOpComponent dim=4";
                self.add(&name, keys, &format!("Round({name}-pool, 2)"), 4)
            }
            15 => {
                self.affine(&format!("{name}-in"), &input, dim, 9);
                let keys = "type=RestrictedAttentionComponent num-heads=1 key-dim=2 value-dim=2 time-stride=1 \
                            num-left-inputs=1 num-right-inputs=1 num-left-inputs-required=0 \
                            num-right-inputs-required=0 output-context=false";
                self.add(&name, keys, &format!("{name}-in"), 2)
            }
            16 => {
                self.affine(&format!("{name}-in"), &input, dim, 8);
                let keys = "type=TimeHeightConvolutionComponent num-filters-in=2 num-filters-out=2 height-in=4 \
                            height-out=2 height-subsample-out=2 time-offsets=-1,0,1 height-offsets=0,1 \
                            required-time-offsets=0";
                self.add(&name, keys, &format!("{name}-in"), 4)
            }
            17 => {
                let keys = format!("type=LinearComponent input-dim={dim} output-dim={out}");
                self.add(&name, &keys, &input, out)
            }
            18 => {
                let keys = format!("type=BackpropTruncationComponent dim={dim} scale=0.75");
                self.add(&name, &keys, &input, dim)
            }
            _ => {
                let keys = format!("type=DropoutComponent dim={dim} dropout-proportion=0.3");
                self.add(&name, &keys, &input, dim)
            }
        }
    }

    fn affine(&mut self, name: &str, input: &str, dim: usize, out: usize) {
        let keys = format!("type=NaturalGradientAffineComponent input-dim={dim} output-dim={out}");
        self.add(name, &keys, input, out)
    }

    fn outputs(&mut self) -> Vec<String> {
        let mut names = vec!["output".to_string()];
        if self.chance(4) {
            names.push("output-2".to_string());
        }
        for name in &names {
            let (input, _) =
                if self.chance(2) { self.sum() } else { (self.nodes.last().unwrap().0.clone(), 0) };
            self.config += &format!("output-node name={name} input={input}\n");
        }
        names
    }

    fn request(&mut self, nnet: &Nnet, outputs: &[String]) -> ComputationRequest {
        let sequences: Vec<i32> = match self.rng.u8(..4) {
            0 => vec![0],
            1 => vec![0, 1],
            2 => (0..self.rng.i32(3..6)).collect(),
            _ => vec![2, 3, 7],
        };
        let step = self.pick(&[1, 1, 1, 2, 3]);
        let length = self.rng.i32(1..9);
        let (left, right) = (self.rng.i32(0..16), self.rng.i32(0..16));
        let rows = |times: &[i32]| {
            let of = |&n: &i32| times.iter().map(move |&t| Index::new(n, t, 0)).collect::<Vec<Index>>();
            sequences.iter().flat_map(of).collect::<Vec<Index>>()
        };
        let times: Vec<i32> = (-left..length * step + right).collect();
        let output_times: Vec<i32> = (0..length).map(|i| i * step).collect();
        let training = !self.chance(4);
        let mut inputs = vec![IoSpecification {
            name: "input".into(),
            indexes: rows(&times),
            has_deriv: training && self.rng.bool(),
        }];
        if nnet.find_node("ivector").is_some() {
            let has_deriv = training && self.rng.bool();
            inputs.push(IoSpecification { name: "ivector".into(), indexes: rows(&[0]), has_deriv });
        }
        let io = |name: &String| IoSpecification {
            name: name.clone(),
            indexes: rows(&output_times),
            has_deriv: training,
        };
        ComputationRequest {
            inputs,
            outputs: outputs.iter().map(io).collect(),
            need_model_derivative: training && !self.chance(4),
            store_component_stats: false,
        }
    }
}

/// Tries one network; `None` if the request cannot be computed on it.
fn try_network(seed: u64) -> Result<Option<()>, String> {
    let mut generator = Generator::new(seed);
    for _ in 0..generator.rng.usize(1..8) {
        generator.layer();
    }
    let outputs = generator.outputs();
    let nnet = nnet(&generator.config);
    let request = generator.request(&nnet, &outputs);
    let Ok(plain) = compile(&nnet, std::slice::from_ref(&request)) else { return Ok(None) };
    let shown = |what: &str, e: String| format!("{what}: {e}\n{}{request}", generator.config);
    let valid = CheckOptions { rewrite: true, ..CheckOptions::default() };
    check(&nnet, &plain, valid).map_err(|e| shown("plain", e.to_string()))?;
    let data = random_data(&nnet, &request, seed);
    let expected = run(&nnet, &request, &plain, &data).map_err(|e| shown("plain", e))?;

    let variants = option_variants();
    let mut chosen = vec![variants[0].clone()];
    chosen.extend((0..3).map(|_| variants[generator.rng.usize(..variants.len())].clone()));
    for (what, options) in &chosen {
        let mut computation = plain.clone();
        optimize(options, &nnet, request.max_output_time().unwrap(), &mut computation)
            .map_err(|e| shown(what, e.to_string()))?;
        check(&nnet, &computation, CheckOptions::default()).map_err(|e| shown(what, e.to_string()))?;
        let found = run(&nnet, &request, &computation, &data).map_err(|e| shown(what, e))?;
        compare_results(&found, &expected).map_err(|e| shown(what, e))?;
    }
    let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let program = compiler.program(&nnet, &request).map_err(|e| shown("shortcut", e.to_string()))?;
    check(&nnet, program.computation(), CheckOptions::default())
        .map_err(|e| shown("shortcut", e.to_string()))?;
    let found = run(&nnet, &request, program.computation(), &data).map_err(|e| shown("shortcut", e))?;
    compare_results(&found, &expected).map_err(|e| shown("shortcut", e))?;
    Ok(Some(()))
}

#[test]
fn optimised_is_plain() {
    let number = |name: &str| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("a number"));
    let count = number("NNET3_RANDOM_NETWORKS").unwrap_or(DEFAULT_COUNT);
    let first = number("NNET3_RANDOM_SEED").unwrap_or(0);
    let (mut computed, mut failures) = (0, Vec::new());
    for seed in first..first + count {
        match try_network(seed) {
            Ok(Some(())) => computed += 1,
            Ok(None) => {}
            Err(e) => failures.push(format!("seed {seed}: {e}")),
        }
    }
    println!("{computed} of {count} random networks computed");
    assert!(failures.is_empty(), "{} failed; the first:\n{}", failures.len(), failures[0]);
    assert!(2 * computed > count, "only {computed} of {count} requests can be computed");
}
