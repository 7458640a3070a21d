//! OpenFst's programs beside those of Debian's package libfst-tools, where it is installed: 68 calls on random machines, cyclic,
//! with empty labels, with probabilities (arcs of type log), with symbols. The results are the same text, the same machine under other
//! numbers, or, where the algorithm allows it, an equivalent machine.
//!
//! `NNET3_OPENFST_MACHINES=40` tries 40 machines.

use std::path::Path;
use std::process::{Command, Stdio};

use kaldi_fst::{Fst, ops, store};

use crate::common::{Folder, binary};

/// The folder of Debian's programs.
const THEIRS: &str = "/usr/bin";
const COSTS: f32 = 2e-4;

/// The largest difference of two results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// The same text, but for rounding.
    Text,
    /// The same machine under other numbers of states.
    Numbers,
    /// A machine with the same paths, found at random.
    Paths,
    /// The status alone: the program has no output.
    Status,
}

/// Kinds of machines that a call is for.
#[derive(Debug, Clone, Copy, Default)]
struct For {
    acceptors: bool,
    acyclic: bool,
    tropical: bool,
    /// Machines without empty input labels.
    full: bool,
}

const ANY: For = For { acceptors: false, acyclic: false, tropical: false, full: false };
const TROPICAL: For = For { tropical: true, ..ANY };
const ACYCLIC: For = For { acyclic: true, ..ANY };
const ACCEPTORS: For = For { acceptors: true, ..ANY };

/// The calls. `@` is the machine, `%` another one of its kind, `$` the output; what is before `;` prepares by Debian's
/// programs.
fn calls() -> Vec<(&'static str, For, Level)> {
    use Level::{Numbers, Paths, Status, Text};
    let acyclic = For { acyclic: true, tropical: true, ..ANY };
    let acyclic_acceptors = For { acceptors: true, acyclic: true, tropical: true, full: false };
    vec![
        ("fstarcsort @ $", ANY, Text),
        ("fstarcsort --sort_type=olabel @ $", ANY, Text),
        ("fstclosure @ $", ANY, Numbers),
        ("fstclosure --closure_plus @ $", ANY, Numbers),
        ("fstconcat @ % $", ANY, Numbers),
        ("fstunion @ % $", ANY, Paths),
        ("fstconnect @ $", ANY, Numbers),
        ("fstinvert @ $", ANY, Text),
        ("fstproject @ $", ANY, Text),
        ("fstproject --project_type=output @ $", ANY, Text),
        ("fstreverse @ $", ANY, Text),
        ("fstreverse --require_superinitial=false @ $", ANY, Text),
        ("fstmap --map_type=superfinal @ s ; fstreverse --require_superinitial=false s $", ANY, Text),
        ("fstrmepsilon @ $", ANY, Numbers),
        ("fstrmepsilon --connect=false @ $", TROPICAL, Numbers),
        ("fstrmepsilon --weight=1 @ $", TROPICAL, Paths),
        ("fsttopsort @ $", ACYCLIC, Numbers),
        ("fstsynchronize @ $", ACYCLIC, Numbers),
        ("fstepsnormalize @ $", acyclic, Paths),
        ("fstepsnormalize --eps_norm_output @ $", acyclic, Paths),
        ("fstpush --push_weights --delta=0.000001 @ $", ANY, Text),
        ("fstpush --push_weights --delta=0.000001 --to_final @ $", ANY, Text),
        ("fstpush --push_weights --delta=0.000001 --remove_total_weight @ $", ANY, Text),
        ("fstpush --push_weights --delta=0.000001 --remove_total_weight --to_final @ $", ANY, Text),
        ("fstpush --push_labels @ $", TROPICAL, Numbers),
        ("fstpush --push_labels --remove_common_affix @ $", TROPICAL, Numbers),
        ("fstpush --push_labels --to_final @ $", TROPICAL, Numbers),
        ("fstpush --push_labels --to_final --remove_common_affix @ $", TROPICAL, Numbers),
        ("fstpush --push_labels --push_weights @ $", TROPICAL, Paths),
        ("fstshortestdistance @ $", ANY, Text),
        ("fstshortestdistance --reverse @ $", ANY, Text),
        ("fstshortestpath @ $", TROPICAL, Paths),
        ("fstshortestpath --nshortest=3 @ $", TROPICAL, Paths),
        ("fstshortestpath --nshortest=4 --unique @ $", For { acceptors: true, ..TROPICAL }, Paths),
        ("fstshortestpath --nshortest=9 --weight=0.5 @ $", TROPICAL, Paths),
        ("fstprune --weight=1 @ $", TROPICAL, Numbers),
        ("fstprune --weight=0 @ $", TROPICAL, Numbers),
        ("fstdeterminize @ $", acyclic_acceptors, Numbers),
        ("fstdeterminize @ $", For { tropical: false, ..acyclic_acceptors }, Paths),
        ("fstdeterminize --weight=1 @ $", acyclic_acceptors, Paths),
        ("fstdeterminize @ d ; fstminimize d $", acyclic_acceptors, Numbers),
        ("fstminimize --allow_nondet @ $", TROPICAL, Paths),
        ("fstarcsort --sort_type=olabel @ s ; fstcompose s % $", ANY, Numbers),
        ("fstarcsort --sort_type=olabel @ s ; fstcompose --connect=false s % $", ANY, Numbers),
        ("fstarcsort --sort_type=olabel @ s ; fstintersect s % $", ACCEPTORS, Numbers),
        (
            "fstrmepsilon % e , fstmap --map_type=rmweight e w , fstdeterminize w d ; fstdifference @ d $",
            acyclic_acceptors,
            Paths,
        ),
        ("fstdisambiguate @ $", For { full: true, ..acyclic_acceptors }, Paths),
        ("fstencode --encode_labels @ codes $", ANY, Text),
        ("fstencode --encode_weights @ codes $", ANY, Text),
        ("fstencode --encode_labels --encode_weights @ codes $", ANY, Text),
        ("fstencode --encode_labels --encode_weights @ codes c ; fstencode --decode c codes $", ANY, Numbers),
        ("fstmap --map_type=arc_sum @ $", TROPICAL, Text),
        ("fstmap --map_type=arc_unique @ $", ANY, Text),
        ("fstmap --map_type=input_epsilon @ $", ANY, Text),
        ("fstmap --map_type=output_epsilon @ $", ANY, Text),
        ("fstmap --map_type=invert @ $", ANY, Text),
        ("fstmap --map_type=plus --weight=0.5 @ $", TROPICAL, Text),
        ("fstmap --map_type=times --weight=0.5 @ $", ANY, Text),
        ("fstmap --map_type=quantize --delta=0.25 @ $", ANY, Text),
        ("fstmap --map_type=rmweight @ $", ANY, Text),
        ("fstmap --map_type=superfinal @ $", ANY, Text),
        ("fstmap --map_type=to_log @ $", TROPICAL, Text),
        ("fstshortestdistance --reverse @ p ; fstreweight @ p $", ANY, Text),
        ("fstshortestdistance @ p ; fstreweight --to_final @ p $", ANY, Text),
        ("fstsymbols --isymbols=names --osymbols=names @ $", ANY, Text),
        ("fstconvert --fst_type=const @ $", ANY, Text),
        ("fstreplace @ 1 % 2 $", For { acyclic: true, ..TROPICAL }, Numbers),
        ("fstequal @ %", ANY, Status),
        ("fstequal @ @", ANY, Status),
        ("fstmap --map_type=arc_unique @ s ; fstisomorphic s s", ANY, Status),
        ("fstdeterminize @ d ; fstequivalent d d", For { full: true, ..acyclic_acceptors }, Status),
        ("fstinfo @ > $", ANY, Text),
        ("fstprint --show_weight_one --isymbols=names --osymbols=names @ $", ANY, Text),
    ]
}

struct Machine {
    file: String,
    other: String,
    is: For,
}

fn random(state: &mut u64, most: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % most
}

/// The text of a machine whose paths lead forwards, with some arcs back.
fn text(seed: u64, is: For) -> String {
    let mut state = seed;
    let mut next = |most: u64| random(&mut state, most);
    let states = 4 + next(5);
    let mut out = String::new();
    for s in 0..states {
        for a in 0..=next(3) {
            let to = match (a, next(4)) {
                (0, _) => s + 1,
                (_, 0) if !is.acyclic => next(s + 1),
                _ => s + 1 + next(states - s),
            };
            let least = u64::from(is.full);
            let ilabel = least + next(5 - least);
            let olabel = if is.acceptors { ilabel } else { next(5) };
            // (Probabilities of cycles are below 1.)
            let cost = 1.0 + next(2000) as f32 / 1000.0;
            out += &format!("{s} {to} {ilabel} {olabel} {cost}\n");
        }
        if next(4) == 0 {
            out += &format!("{s} {}\n", next(3000) as f32 / 1000.0);
        }
    }
    out + &format!("{states} 0.5\n")
}

fn run(folder: &Path, program: &Path, arguments: &[String], output: Option<&str>) -> Option<i32> {
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments).stderr(Stdio::null()).stdin(Stdio::null());
    command.stdout(match output {
        Some(name) => Stdio::from(std::fs::File::create(folder.join(name)).unwrap()),
        None => Stdio::null(),
    });
    command.status().unwrap().code()
}

fn load(path: &Path) -> Option<Fst> {
    let mut r = kaldi_io::KaldiReader::open_raw(&path.display().to_string()).ok()?;
    r.set_binary(true);
    store::read_costs_with_symbols(&mut r).ok().map(|(fst, ..)| fst)
}

/// True if both texts are the same, but for the last digits of numbers.
fn same_text(a: &str, b: &str) -> bool {
    let near = |(a, b): (&str, &str)| {
        a == b || matches!((a.parse::<f32>(), b.parse::<f32>()), (Ok(a), Ok(b)) if (a - b).abs() <= COSTS)
    };
    let lines = |text: &str| text.lines().map(|line| line.split_whitespace().count()).collect::<Vec<_>>();
    lines(a) == lines(b) && a.split_whitespace().zip(b.split_whitespace()).all(near)
}

/// The same text, if both are no machines.
fn level(ours: &Path, theirs: &Path) -> Option<Level> {
    let (Some(a), Some(b)) = (load(ours), load(theirs)) else {
        let read =
            |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        return same_text(&read(ours), &read(theirs)).then_some(Level::Text);
    };
    if ops::equal(&a, &b, COSTS) {
        return Some(Level::Text);
    }
    if a.start.is_none() && b.start.is_none() || ops::isomorphic(&a, &b, COSTS).unwrap_or(false) {
        return Some(Level::Numbers);
    }
    let how = ops::RandomComparison { paths: 200, longest: 50, delta: 0.01, seed: 1 };
    // (Several paths with one string may differ; the best one counts.)
    ops::randomly_equivalent(&a, &b, how).unwrap_or(false).then_some(Level::Paths)
}

/// True if a machine has paths, and none is left of them.
fn loses_all(result: &Path, machine: &Path) -> bool {
    let has_paths = |path: &Path| {
        let mut fst = load(path).unwrap_or_default();
        ops::connect(&mut fst);
        fst.start.is_some()
    };
    has_paths(machine) && !has_paths(result)
}

/// Runs a call by our program and by theirs. `None` if the machine is not for it.
fn compare(folder: &Path, machine: &Machine, call: (&str, For, Level)) -> Option<Result<Level, String>> {
    let (line, wanted, least) = call;
    let is = machine.is;
    let fits = (!wanted.acceptors || is.acceptors)
        && (!wanted.acyclic || is.acyclic)
        && (!wanted.tropical || is.tropical)
        && (!wanted.full || is.full);
    if !fits {
        return None;
    }
    let (before, last) = line.split_once(" ; ").unwrap_or(("", line));
    let theirs = |program: &str| Path::new(THEIRS).join(program);
    let words = |part: &str, output: &str| -> Vec<String> {
        let word = |word: &str| match word {
            "@" => machine.file.clone(),
            "%" => machine.other.clone(),
            "$" => output.to_owned(),
            other => other.to_owned(),
        };
        part.split_whitespace().map(word).collect()
    };
    for part in before.split(" , ").filter(|part| !part.is_empty()) {
        let words = words(part, "");
        let output = words[0].contains("distance").then(|| words[words.len() - 1].clone());
        let arguments = if output.is_some() { &words[1..words.len() - 1] } else { &words[1..] };
        if run(folder, &theirs(&words[0]), arguments, output.as_deref()) != Some(0) {
            return None;
        }
    }
    let mut statuses = [None; 2];
    for (status, name) in statuses.iter_mut().zip(["ours", "theirs"]) {
        let _none = std::fs::remove_file(folder.join(name));
        let mut words = words(last, name);
        let printed = words.iter().any(|word| word == ">");
        words.retain(|word| word != ">");
        if printed {
            words.pop();
        }
        let program = if name == "ours" { binary(&words[0]) } else { theirs(&words[0]) };
        *status = run(folder, &program, &words[1..], printed.then_some(name));
    }
    if statuses[1].is_none_or(|status| status != 0 && (least != Level::Status || status > 2)) {
        // (Their program fails on some: it dies of a signal, or says that the machine is not for it.)
        return None;
    }
    if statuses[0] != statuses[1] {
        return Some(Err(format!("status {:?}, theirs {:?}", statuses[0], statuses[1])));
    }
    if least == Level::Status {
        return Some(Ok(Level::Status));
    }
    if line.starts_with("fstprune") && loses_all(&folder.join("theirs"), &folder.join(&machine.file)) {
        // (Rounding makes theirs lose all paths. The cheapest one stays here.)
        let paths = ["fstshortestpath".to_owned(), machine.file.clone(), "theirs".to_owned()];
        assert_eq!(run(folder, &theirs(&paths[0]), &paths[1..], None), Some(0));
    }
    let found = level(&folder.join("ours"), &folder.join("theirs"));
    Some(found.filter(|&found| found <= least).ok_or_else(|| format!("expected {least:?}, found {found:?}")))
}

#[test]
fn results_are_those_of_debians_programs() {
    if !Path::new(THEIRS).join("fstepsnormalize").exists() {
        return println!("skipped: libfst-tools is not installed");
    }
    let count = std::env::var("NNET3_OPENFST_MACHINES").ok().map_or(2, |count| count.parse().unwrap());
    let f = Folder::new("openfst-twins");
    f.write("names", (0..10).map(|n| format!("w{n} {n}\n")).collect::<String>());
    let path = std::path::PathBuf::from(f.path("."));
    let (mut compared, mut levels, mut wrong) = (0, std::collections::BTreeMap::new(), Vec::new());
    for seed in 0..count {
        // (The first machine is for all calls.)
        let is = For {
            acceptors: seed % 2 == 0,
            acyclic: seed % 4 < 2 && seed % 8 != 6,
            tropical: seed % 3 != 1 || seed == 1,
            full: seed % 5 == 0,
        };
        let mut machine = Machine { file: format!("{seed}.a"), other: format!("{seed}.b"), is };
        for (name, seed) in [(&machine.file, 2 * seed), (&machine.other, 2 * seed + 1)] {
            f.write("text", text(seed, is));
            let arguments = [
                format!("--arc_type={}", if is.tropical { "standard" } else { "log" }),
                "text".to_owned(),
                name.clone(),
            ];
            assert_eq!(run(&path, &Path::new(THEIRS).join("fstcompile"), &arguments, None), Some(0));
            let ours = [arguments[0].clone(), arguments[1].clone(), "ours".to_owned()];
            assert_eq!(run(&path, &binary("fstcompile"), &ours, None), Some(0));
            let (a, b) = (load(&path.join("ours")).unwrap(), load(&path.join(name)).unwrap());
            assert!(ops::equal(&a, &b, 0.0), "fstcompile, {seed}");
        }
        // Sorted, as composition needs them.
        let sorted = format!("{seed}.s");
        let arguments = [machine.other.clone(), sorted.clone()];
        assert_eq!(run(&path, &Path::new(THEIRS).join("fstarcsort"), &arguments, None), Some(0));
        machine.other = sorted;
        for call in calls() {
            match compare(&path, &machine, call) {
                None => {}
                Some(Ok(level)) => {
                    compared += 1;
                    *levels.entry(level).or_insert(0) += 1;
                }
                Some(Err(why)) => wrong.push(format!("machine {seed} ({is:?}): {}: {why}", call.0)),
            }
        }
    }
    println!("{compared} compared: {levels:?}; {} wrong", wrong.len());
    assert!(wrong.is_empty() && compared > 40, "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}
