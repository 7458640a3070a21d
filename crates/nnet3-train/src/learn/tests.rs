//! Tests steps by every optimiser on a function of three parameters, compared with neon and PyTorch.

use std::sync::Arc;

use crate::learn::learner::Pending;
use crate::learn::{AverageOptions, Learner, LearnerOptions, Plan, Rules};
use crate::ledger::Ledger;
use nnet3_core::component::Context;
use nnet3_core::config::parse_config;
use nnet3_core::index::ComponentId;
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_matrix::Workspace;

type Steps = [[f64; 3]; 5];

/// Name, lines of rules, and the parameters after each step.
const CASES: &[(&str, &str, Steps)] = &[
    (
        "A",
        "optimizer name=main type=sgd learning-rate=.1 momentum=.9;learn components=* optimizer=main",
        [
            [0.82, -1.95, 0.515],
            [0.5475, -1.851, 0.54335],
            [0.2958, -1.704175, 0.5834315],
            [0.15615875, -1.516405, 0.63367054],
            [0.16383838, -1.3035794, 0.69254896],
        ],
    ),
    (
        "B",
        "optimizer name=main type=sgd learning-rate=.1 momentum=.9 nesterov=true weight-decay=.05;learn components=* optimizer=main",
        [
            [0.6485, -1.886, 0.52375],
            [0.40679925, -1.7127505, 0.55694812],
            [0.3104561, -1.5028227, 0.59802404],
            [0.318824, -1.2871168, 0.64546748],
            [0.36883037, -1.0945362, 0.69784408],
        ],
    ),
    (
        "C",
        "optimizer name=main type=sgd learning-rate=.1 momentum=.9;clip norm=1;learn components=* optimizer=main",
        [
            [0.9039573, -1.9733215, 0.50800356],
            [0.72402289, -1.9152046, 0.52496738],
            [0.488233, -1.8075802, 0.55498514],
            [0.2911079, -1.6543718, 0.59645128],
            [0.19899787, -1.4661762, 0.64764802],
        ],
    ),
    (
        "D",
        "optimizer name=main type=sgd learning-rate=.1;clip value=.5 parameter=1.2;learn components=* optimizer=main",
        [
            [0.95, -1.2, 0.515],
            [0.9, -1.2, 0.52985],
            [0.85, -1.2, 0.5445515],
            [0.8, -1.2, 0.55910599],
            [0.75, -1.2, 0.57351493],
        ],
    ),
    (
        "E",
        "optimizer name=main type=neon-rmsprop learning-rate=.05;learn components=* optimizer=main",
        [
            [0.77639445, -1.7764041, 0.72350082],
            [0.66422304, -1.6370873, 0.87052384],
            [0.59550732, -1.5367392, 0.98512781],
            [0.55074639, -1.4608501, 1.0806515],
            [0.52076054, -1.4025151, 1.1631655],
        ],
    ),
    (
        "F",
        "optimizer name=main type=rmsprop learning-rate=.05;learn components=* optimizer=main",
        [
            [0.50000003, -1.5000001, 0.99999967],
            [0.48604659, -1.2754935, 1.2783147],
            [0.45624608, -1.2462377, 1.4655021],
            [0.45572116, -1.2298429, 1.599722],
            [0.45346917, -1.2280398, 1.698743],
        ],
    ),
    (
        "G",
        "optimizer name=main type=neon-adagrad learning-rate=.5;learn components=* optimizer=main",
        [
            [0.50000008, -1.500001, 0.99998889],
            [0.4861166, -1.2763939, 1.2773369],
            [0.45665994, -1.2466306, 1.4633738],
            [0.45573844, -1.2302998, 1.5965299],
            [0.45357533, -1.2281309, 1.6946967],
        ],
    ),
    (
        "H",
        "optimizer name=main type=adadelta rho=.95;learn components=* optimizer=main",
        [
            [0.99552788, -1.995528, 0.50447015],
            [0.9910181, -1.991009, 0.50899063],
            [0.98649616, -1.986465, 0.51354063],
            [0.98197485, -1.9819071, 0.51810975],
            [0.97746185, -1.9773419, 0.52269178],
        ],
    ),
    (
        "I",
        "optimizer name=main type=adam learning-rate=.1;learn components=* optimizer=main",
        [
            [0.9, -1.9, 0.59999999],
            [0.80113316, -1.8004122, 0.69976092],
            [0.70462818, -1.7015924, 0.79909711],
            [0.61221116, -1.6039803, 0.89780104],
            [0.52616519, -1.508129, 0.9956418],
        ],
    ),
    (
        "J",
        "optimizer name=main type=adam learning-rate=.1 weight-decay=.05;learn components=* optimizer=main",
        [
            [0.9, -1.9, 0.59999999],
            [0.80110871, -1.8003653, 0.69946479],
            [0.70452051, -1.7014039, 0.79791562],
            [0.61190672, -1.6034893, 0.89475891],
            [0.52547471, -1.5070824, 0.9892683],
        ],
    ),
    (
        "K",
        "optimizer name=main type=adamw learning-rate=.1 weight-decay=.05;learn components=* optimizer=main",
        [
            [0.895, -1.89, 0.59749999],
            [0.79174008, -1.7810531, 0.69428109],
            [0.69154219, -1.6736, 0.79017006],
            [0.59626806, -1.5681945, 0.88497633],
            [0.50836893, -1.465542, 0.97849114],
        ],
    ),
    (
        "L",
        "optimizer name=main type=adamw learning-rate=.1 weight-decay=.05;clip norm=1;learn components=* optimizer=main",
        [
            [0.895, -1.89, 0.59749999],
            [0.79055056, -1.7804153, 0.69462259],
            [0.68669754, -1.6711612, 0.79132492],
            [0.58507619, -1.5622733, 0.88791489],
            [0.4900444, -1.4547231, 0.98416822],
        ],
    ),
    (
        "M",
        "optimizer name=main type=adamax learning-rate=.1;learn components=* optimizer=main",
        [
            [0.9, -1.9, 0.59999999],
            [0.81014406, -1.8051683, 0.6965878],
            [0.73001274, -1.7156835, 0.78972385],
            [0.65915481, -1.6317002, 0.87937601],
            [0.59709103, -1.5533472, 0.96551995],
        ],
    ),
];

/// The running average of case I with decay 0.9.
const AVERAGE: Steps = [
    [0.99, -1.99, 0.51],
    [0.97111332, -1.9710412, 0.52897609],
    [0.9444648, -1.9440963, 0.55598819],
    [0.91123944, -1.9100847, 0.59016948],
    [0.87273201, -1.8698892, 0.63071671],
];

/// 2 x² + ½ y² + .05 z² + ½ x y - 1.2 x + y - .2 z
fn gradient([x, y, z]: [f64; 3]) -> [f64; 3] {
    [4.0 * x + 0.5 * y - 1.2, 0.5 * x + y + 1.0, 0.1 * z - 0.2]
}

fn rules(lines: &str) -> crate::Result<Rules> {
    let mut rules = Rules::default();
    for line in parse_config("rules", lines.split(';'))? {
        rules.push(line)?;
    }
    Ok(rules)
}

fn network(config: &str) -> Nnet {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("config", config.split(';')).unwrap(), &Random::new(0)).unwrap();
    nnet
}

/// A network with three parameters.
fn three() -> Nnet {
    let mut nnet = network(
        "input-node name=input dim=3;component name=a type=LinearComponent input-dim=3 output-dim=1 use-natural-gradient=false;\
         component-node name=a component=a input=input;output-node name=output input=a",
    );
    set(&mut nnet, [1.0, -2.0, 0.5]);
    nnet
}

fn set(nnet: &mut Nnet, values: [f64; 3]) {
    let a = nnet.component_mut(ComponentId(0)).as_updatable_mut().unwrap();
    a.unvectorize(&values.map(|x| x as f32));
}

fn get(nnet: &Nnet) -> [f64; 3] {
    let values = nnet.component(ComponentId(0)).as_updatable().unwrap().vectorize();
    std::array::from_fn(|k| f64::from(values[k]))
}

struct Machine {
    nnet: Nnet,
    delta: Delta,
    learner: Learner,
    workspace: Workspace,
    random: Random,
    ledger: Ledger,
}

impl Machine {
    fn new(nnet: Nnet, lines: &str, options: LearnerOptions) -> crate::Result<Machine> {
        let device = nnet3_matrix::cpu();
        let plan = Arc::new(Plan::new(&nnet, &rules(lines)?)?);
        let delta = Delta::collecting(&nnet, |id| plan.collected(id));
        let learner = Learner::new(plan, options, &nnet, &device);
        let workspace = Workspace::new(&device);
        Ok(Machine { nnet, delta, learner, workspace, random: Random::new(0), ledger: Ledger::default() })
    }

    /// Makes a step of the collected derivative of the objective, over frames of this weight.
    fn step(&mut self, weight: f64) {
        self.step_of(Pending { minibatches: 1, weight, sequences: 1.0 });
    }

    fn step_of(&mut self, pending: Pending) {
        let device = nnet3_matrix::cpu();
        let context = Context { backend: &*device, workspace: &self.workspace, random: &self.random };
        self.learner.step(&mut self.nnet, &mut self.delta, context, pending, 0, &mut self.ledger);
        self.learner.average(&self.nnet);
    }

    /// A step on the function of three parameters.
    fn descend(&mut self) {
        let g = gradient(get(&self.nnet)).map(|g| -4.0 * g);
        set(self.delta.nnet_mut(), g);
        self.step(4.0);
    }
}

fn close(found: [f64; 3], expected: [f64; 3], tolerance: f64) -> bool {
    found.iter().zip(expected).all(|(a, b)| (a - b).abs() < tolerance)
}

#[test]
fn steps_of_neon_and_pytorch() {
    for (name, lines, steps) in CASES {
        let mut machine = Machine::new(three(), lines, LearnerOptions::default()).unwrap();
        for (k, expected) in steps.iter().enumerate() {
            machine.descend();
            let found = get(&machine.nnet);
            assert!(close(found, *expected, 2e-6), "{name}, step {}: {found:?} for {expected:?}", k + 1);
            assert_eq!(get(machine.delta.nnet()), [0.0; 3]);
        }
    }
}

#[test]
fn a_running_average() {
    let options = LearnerOptions {
        average: Some(AverageOptions { decay: 0.9, warm_up: false }),
        ..LearnerOptions::default()
    };
    let (_, lines, _) = CASES.iter().find(|(name, ..)| *name == "I").unwrap();
    let mut machine = Machine::new(three(), lines, options).unwrap();
    for expected in AVERAGE {
        machine.descend();
        let mut average = machine.nnet.clone();
        machine.learner.put_average(&mut average);
        assert!(close(get(&average), expected, 2e-6), "{:?}", get(&average));
    }
    let decays = [1, 10, 1000].map(|t| AverageOptions { decay: 0.9, warm_up: true }.decay_at(t));
    assert_eq!(decays, [2.0 / 11.0, 11.0 / 20.0, 0.9]);
}

/// Steps follow the definition: the sign of an average, and a decay that is not part of the gradient.
#[test]
fn steps_of_lion() {
    let lines = "optimizer name=l type=lion learning-rate=.1 weight-decay=.05;learn components=* optimizer=l";
    let mut machine = Machine::new(three(), lines, LearnerOptions::default()).unwrap();
    let (mut x, mut m) = ([1.0, -2.0, 0.5], [0.0; 3]);
    for _ in 0..5 {
        let g = gradient(x);
        for k in 0..3 {
            let c: f64 = 0.9 * m[k] + 0.1 * g[k];
            x[k] -= 0.1 * (c.signum() + 0.05 * x[k]);
            m[k] = 0.99 * m[k] + 0.01 * g[k];
        }
        machine.descend();
        assert!(close(get(&machine.nnet), x, 2e-6), "{:?} for {x:?}", get(&machine.nnet));
    }
}

/// Matrices in `f64`, row by row.
type Rows = Vec<Vec<f64>>;

fn times(a: &Rows, b: &Rows) -> Rows {
    let dot = |row: &Vec<f64>, j: usize| row.iter().zip(b).map(|(x, other)| x * other[j]).sum();
    a.iter().map(|row| (0..b[0].len()).map(|j| dot(row, j)).collect()).collect()
}

fn transposed(a: &Rows) -> Rows {
    (0..a[0].len()).map(|j| a.iter().map(|row| row[j]).collect()).collect()
}

fn combined(terms: &[(f64, &Rows)]) -> Rows {
    let mut out = vec![vec![0.0; terms[0].1[0].len()]; terms[0].1.len()];
    for (factor, m) in terms {
        for (to, from) in out.iter_mut().zip(*m) {
            to.iter_mut().zip(from).for_each(|(to, x)| *to += factor * x);
        }
    }
    out
}

/// Five iterations on the side that is not transposed.
fn orthogonal(x: &Rows) -> Rows {
    let norm = x.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    let mut x = combined(&[(1.0 / norm, x)]);
    for _ in 0..5 {
        let gram = times(&x, &transposed(&x));
        let both = combined(&[(-4.775, &gram), (2.0315, &times(&gram, &gram))]);
        x = combined(&[(3.4445, &x), (1.0, &times(&both, &x))]);
    }
    x
}

/// Beside a slow version: wide and tall matrices, and AdamW for the bias.
#[test]
fn steps_of_muon() {
    for (inputs, outputs) in [(5, 3), (3, 5)] {
        let config = format!(
            "input-node name=input dim={inputs};component name=a type=AffineComponent input-dim={inputs} output-dim={outputs};\
             component-node name=a component=a input=input;output-node name=output input=a"
        );
        let lines = "optimizer name=m type=muon learning-rate=.1 weight-decay=.01 vector-learning-rate=.05;\
                     learn components=* optimizer=m";
        let mut machine = Machine::new(network(&config), lines, LearnerOptions::default()).unwrap();
        let (linear_len, id) = (inputs * outputs, ComponentId(0));
        let start = machine.nnet.component(id).as_updatable().unwrap().vectorize();
        let rows = |values: &[f32]| -> Rows {
            values[..linear_len].chunks(inputs).map(|row| row.iter().map(|&x| x.into()).collect()).collect()
        };
        let mut x = rows(&start);
        let mut bias: Vec<f64> = start[linear_len..].iter().map(|&x| x.into()).collect();
        let mut momentum = combined(&[(0.0, &x)]);
        let (mut m, mut v) = (vec![0.0; outputs], vec![0.0; outputs]);
        let random = Random::new(5);
        for t in 1..=4 {
            let g = random.normal_vec(start.len(), 0.0, 1.0);
            let raw: Vec<f32> = g.iter().map(|g| -2.0 * g).collect();
            let delta = machine.delta.nnet_mut().component_mut(id).as_updatable_mut().unwrap();
            delta.unvectorize(&raw);
            machine.step(2.0);
            let gradient = rows(&g);
            momentum = combined(&[(0.95, &momentum), (1.0, &gradient)]);
            let direction = orthogonal(&combined(&[(1.0, &gradient), (0.95, &momentum)]));
            let size = (outputs as f64 / inputs as f64).max(1.0).sqrt();
            x = combined(&[(1.0 - 0.1 * 0.01, &x), (-0.1 * size, &direction)]);
            for k in 0..outputs {
                let g = f64::from(g[linear_len + k]);
                m[k] = 0.9 * m[k] + 0.1 * g;
                v[k] = 0.95 * v[k] + 0.05 * g * g;
                let (first, second): (f64, f64) = (1.0 - 0.9f64.powi(t), 1.0 - 0.95f64.powi(t));
                bias[k] -= 0.05 * (m[k] / first / ((v[k] / second).sqrt() + 1e-10) + 0.01 * bias[k]);
            }
            let found = machine.nnet.component(id).as_updatable().unwrap().vectorize();
            for (found, expected) in found.iter().zip(x.iter().flatten().chain(&bias)) {
                assert!((f64::from(*found) - expected).abs() < 2e-5, "{found} for {expected}, step {t}");
            }
        }
    }
}

#[test]
fn gradients_that_are_not_finite_change_nothing() {
    for (_, lines, _) in CASES {
        let mut machine = Machine::new(three(), lines, LearnerOptions::default()).unwrap();
        machine.descend();
        let before = get(&machine.nnet);
        set(machine.delta.nnet_mut(), [1.0, f64::NAN, 0.0]);
        machine.step(1.0);
        machine.learner.refused();
        assert_eq!((get(&machine.nnet), get(machine.delta.nnet())), (before, [0.0; 3]));
        // Later steps are the same as without the refused one.
        let mut other = Machine::new(three(), lines, LearnerOptions::default()).unwrap();
        other.descend();
        machine.descend();
        other.descend();
        assert_eq!(get(&machine.nnet), get(&other.nnet));
    }
}

/// A change that is too long keeps its direction.
#[test]
fn limits_on_the_change_of_a_component() {
    let lines = "optimizer name=s type=sgd learning-rate=1;learn components=* optimizer=s max-change=.5";
    let mut machine = Machine::new(three(), lines, LearnerOptions::default()).unwrap();
    machine.descend();
    let g = gradient([1.0, -2.0, 0.5]);
    let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
    let expected = [1.0 - 0.5 * g[0] / norm, -2.0 - 0.5 * g[1] / norm, 0.5 - 0.5 * g[2] / norm];
    assert!(close(get(&machine.nnet), expected, 1e-6));
}

/// A step of size 1 from frames of weight 4 in two sequences, by the definition of each divisor. The model's l2
/// constant λ adds 2 λ · (sequences) / (divisor) of the parameters, unless a line ignores it.
#[test]
fn divisors_and_l2() {
    let start = [1.0, -2.0, 0.5];
    for (normalize, divisor) in [("frames", 4.0), ("sequences", 2.0), ("none", 1.0)] {
        for (more, l2) in [("", 0.25), (" l2=ignore", 0.0)] {
            let mut nnet = three();
            let a = nnet.component_mut(ComponentId(0)).as_updatable_mut().unwrap();
            a.settings_mut().l2_regularize = 0.25;
            let lines =
                format!("optimizer name=s type=sgd learning-rate=1;learn components=* optimizer=s{more}");
            let normalize = normalize.parse().unwrap();
            let options = LearnerOptions { normalize, average: None, l2_factor: 0.5 };
            let mut machine = Machine::new(nnet, &lines, options).unwrap();
            let g = gradient(start);
            set(machine.delta.nnet_mut(), g.map(|g| -g));
            machine.step_of(Pending { minibatches: 1, weight: 4.0, sequences: 2.0 });
            let expected = std::array::from_fn(|k| {
                start[k] - (g[k] / divisor + 2.0 * 0.5 * l2 * 2.0 / divisor * start[k])
            });
            let found = get(&machine.nnet);
            assert!(close(found, expected, 1e-6), "{normalize:?}{more}: {found:?} for {expected:?}");
        }
    }
}

const TWO: &str = "input-node name=input dim=3;component name=tdnn1.affine type=AffineComponent input-dim=3 output-dim=4;\
    component name=tdnn1.so type=ScaleAndOffsetComponent dim=4;\
    component name=output.affine type=AffineComponent input-dim=4 output-dim=2 learning-rate-factor=0.5 l2-regularize=0.25;\
    component-node name=a component=tdnn1.affine input=input;component-node name=s component=tdnn1.so input=a;\
    component-node name=o component=output.affine input=s;output-node name=output input=o";

#[test]
fn later_lines_win() {
    let lines = "optimizer name=main type=adamw learning-rate=.002 weight-decay=.01;\
        optimizer name=last type=sgd learning-rate=.1;\
        learn components=* optimizer=main;learn type=ScaleAndOffsetComponent weight-decay=0;\
        learn components=*.affine part=bias weight-decay=.5;learn components=output* optimizer=last;\
        learn components=output* part=bias optimizer=none";
    let nnet = network(TWO);
    let plan = Plan::new(&nnet, &rules(lines).unwrap()).unwrap();
    let found: Vec<_> = plan
        .parts
        .iter()
        .map(|part| (&*part.component_name, &*part.name, part.group, part.weight_decay, part.rate_factor))
        .collect();
    let expected = [
        ("tdnn1.affine", "linear", Some(0), 0.01, 1.0),
        ("tdnn1.affine", "bias", Some(0), 0.5, 1.0),
        ("tdnn1.so", "scale", Some(0), 0.0, 1.0),
        ("tdnn1.so", "offset", Some(0), 0.0, 1.0),
        ("output.affine", "linear", Some(1), 0.0, 0.5),
        ("output.affine", "bias", None, 0.5, 0.5),
    ];
    assert_eq!(found, expected);
    assert_eq!(plan.parts[4].l2, 0.25);
    assert_eq!(plan.table(&nnet).len(), 7);
}

#[test]
fn mistakes_in_rules() {
    let main = "optimizer name=main type=adam;learn components=* optimizer=main";
    for (lines, message) in [
        ("optimizer name=a type=adan".to_owned(), "there are kaldi, sgd"),
        ("optimizer name=a type=sgd".to_owned(), "needs a learning-rate"),
        ("optimizer name=a type=adam beta1=1".to_owned(), "beta1=1: expected a number from 0 to below 1"),
        ("optimizer name=a type=adam learning-rate=nan".to_owned(), "expected a finite number"),
        ("optimizer name=a type=adam momentum=.9".to_owned(), "unknown or unused key: momentum=.9"),
        ("optimizer name=none type=adam".to_owned(), "freezes"),
        (
            "optimiser name=a type=adam".to_owned(),
            "unknown directive 'optimiser'; there are optimizer, learn",
        ),
        ("learn components=* optimizer=b".to_owned(), "there is no optimizer 'b'"),
        (
            format!("{main};learn components=x* weight-decay=0"),
            "the network has tdnn1.affine (AffineComponent: linear, bias)",
        ),
        (format!("{main};learn components=* part=scal weight-decay=0"), "no trainable part matches"),
        (
            "optimizer name=main type=adam;learn components=tdnn1* optimizer=main".to_owned(),
            "'output.affine' has no optimizer",
        ),
        (format!("{main};optimizer name=b type=lion"), "no part of the network is assigned to optimizer 'b'"),
        (format!("{main};schedule optimizer=x type=cosine"), "no optimizer matches 'x'"),
        (format!("{main};cost output=out type=binary"), "no output matches 'out'; there are output"),
        (format!("{main};learn components=*"), "the line has no setting"),
        (format!("{main};learn components=* decay=1"), "unknown or unused key: decay=1"),
        (format!("{main};clip"), "the line has no rule: expected norm"),
        (format!("{main};learn components=* max-change=-1"), "expected model, none"),
        (
            format!("{main};optimizer name=k type=kaldi;learn components=* part=bias optimizer=k"),
            "of type kaldi, so all of its parts must",
        ),
    ] {
        let error = match rules(&lines).and_then(|rules| Plan::new(&network(TWO), &rules)) {
            Ok(_) => panic!("{lines} is accepted"),
            Err(error) => kaldi_io::error::chain(&error),
        };
        assert!(error.contains(message), "{lines}: {error}");
    }
}
