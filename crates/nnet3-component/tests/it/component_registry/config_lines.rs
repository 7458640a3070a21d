//! Config lines: every key that an entry lists, with values good and bad; keys that it does not list.

use super::{PLACE, example, try_build, written};
use crate::support::{Findings, in_time, peak_memory};
use nnet3_component::{Component, ComponentType, Key, Kind, registry, updatable};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Keys that exclude those of the example, each with a valid config. `{RxC}` stands for a file with a matrix of that
/// size, `{N}` for one with a vector.
const ALTERNATIVES: &[(&str, &str, &str)] = &[
    ("AffineComponent", "matrix", "matrix={3x5}"),
    ("ConvolutionComponent", "matrix", "{example} matrix={2x13}"),
    ("FixedAffineComponent", "matrix", "matrix={3x5}"),
    ("FixedBiasComponent", "bias", "bias={4}"),
    ("FixedScaleComponent", "scales", "scales={4}"),
    ("LinearComponent", "matrix", "matrix={3x4}"),
    ("NaturalGradientAffineComponent", "matrix", "matrix={3x5}"),
    ("NaturalGradientPerElementScaleComponent", "scales", "scales={4}"),
    ("NormalizeComponent", "input-dim", "input-dim=4"),
    ("PerElementOffsetComponent", "vector", "vector={4}"),
    ("PerElementScaleComponent", "vector", "vector={4}"),
    ("SumGroupComponent", "input-dim", "input-dim=6 output-dim=3"),
    ("SumGroupComponent", "output-dim", "input-dim=6 output-dim=3"),
    (
        "TimeHeightConvolutionComponent",
        "offsets",
        "num-filters-in=2 num-filters-out=3 height-in=4 height-out=4 offsets=-1,0;0,0;0,1",
    ),
];

/// Splits a config line into pairs without interpreting them.
fn pairs(keys: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = keys.trim();
    while let Some(equals) = rest.find('=') {
        let key = rest[..equals].to_string();
        let value = &rest[equals + 1..];
        let end = match value.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            Some(quote) => value[1..].find(quote).expect("a closing quote") + 2,
            None => value.find(' ').unwrap_or(value.len()),
        };
        pairs.push((key, value[..end].to_string()));
        rest = value[end..].trim_start();
    }
    pairs
}

/// The line `keys` with `key` set to `value`, or without `key`.
fn with(keys: &str, key: &str, value: Option<&str>) -> String {
    let mut list = pairs(keys);
    let place = list.iter().position(|(k, _)| k == key);
    match (place, value) {
        (Some(i), Some(value)) => list[i].1 = value.to_string(),
        (Some(i), None) => drop(list.remove(i)),
        (None, Some(value)) => list.push((key.to_string(), value.to_string())),
        (None, None) => {}
    }
    list.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
}

/// A config in which `key` is right, with its placeholders filled in.
fn alternative(t: &ComponentType, key: &str) -> Option<String> {
    let (_, _, text) = ALTERNATIVES.iter().find(|(name, k, _)| *name == t.name && *k == key)?;
    let mut text = text.replace("{example}", &with(t.example, "num-filters", None));
    while let Some((before, rest)) = text.split_once('{') {
        let (size, after) = rest.split_once('}').expect("a closing brace");
        text = format!("{before}{}{after}", file_of(size).display());
    }
    Some(text)
}

/// A text file with a matrix (`3x5`) or vector (`4`).
fn file_of(size: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("registry-{size}.txt"));
    let row = |cols: usize| (0..cols).map(|c| format!("{}", c as f32 - 1.5)).collect::<Vec<_>>().join(" ");
    let text = match size.split_once('x') {
        Some((rows, cols)) => {
            let row = row(cols.parse().expect("columns"));
            format!(" [\n  {}]\n", vec![row; rows.parse().expect("rows")].join("\n  "))
        }
        None => format!(" [ {} ]\n", row(size.parse().expect("elements"))),
    };
    let whole = path.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::write(&whole, text).expect("a writable temporary folder");
    std::fs::rename(&whole, &path).expect("a writable temporary folder");
    path
}

fn keys_of(t: &'static ComponentType) -> Vec<Key> {
    let common: &[Key] = if t.updatable { updatable::KEYS } else { &[] };
    t.keys().into_iter().chain(common.iter().cloned()).collect()
}

/// A default that is itself a value, or that is another key's value.
fn literal_default(t: &ComponentType, key: &Key) -> Option<String> {
    let default: &str = &key.default;
    let is_value = match key.kind {
        Kind::Int => default.parse::<i32>().is_ok(),
        Kind::Float => default.parse::<f32>().is_ok(),
        Kind::Bool => matches!(default, "true" | "false"),
        Kind::IntList => default.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
        Kind::String | Kind::File => false,
    };
    let other = pairs(t.example).into_iter().find(|(k, _)| k == default).map(|(_, value)| value);
    if is_value { Some(default.to_string()) } else { other }
}

/// Values of the right kind; one of them should fit.
fn plausible(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Int => &["1", "2", "3", "4", "0", "-1"],
        Kind::Float => &["0.5", "0.05", "0.01", "1", "2"],
        Kind::Bool => &["true", "false", "T", "F"],
        Kind::IntList => &["1,2", "0", "1,0", "-1,0,1", "0,1,2,3"],
        Kind::String => &["1", "0,1", "0,0", "1,1", "zyx"],
        Kind::File => &[],
    }
}

fn bytes_of(name: &str, keys: &str) -> Option<Vec<u8>> {
    try_build(name, keys).ok().map(|component| written(&*component, true))
}

#[test]
fn listed_keys_are_taken() {
    let mut findings = Findings::default();
    for t in registry::types() {
        for key in keys_of(t) {
            let plain = with(t.example, key.name, None);
            let default = literal_default(t, &key).filter(|_| alternative(t, key.name).is_none());
            if let (Some(default), Some(bytes)) = (default, bytes_of(t.name, &plain)) {
                let keys = with(t.example, key.name, Some(&default));
                match try_build(t.name, &keys) {
                    Ok(c) if written(&*c, true) == bytes => {}
                    Ok(_) => findings.add(format!("{}: {} is not the default", t.name, key.name), keys),
                    Err(e) => findings.add(format!("{}: {} refused", t.name, key.name), e.to_string()),
                }
            }
            let accepted = match alternative(t, key.name) {
                Some(keys) => try_build(t.name, &keys),
                None => {
                    let own = pairs(t.example).into_iter().find(|(k, _)| k == key.name).map(|(_, v)| v);
                    let values = own.iter().map(String::as_str).chain(plausible(key.kind).iter().copied());
                    let tried: Vec<_> =
                        values.map(|v| try_build(t.name, &with(t.example, key.name, Some(v)))).collect();
                    tried.into_iter().reduce(|a, b| if a.is_ok() { a } else { b }).expect("a value to try")
                }
            };
            if let Err(e) = accepted {
                findings.add(format!("{}: no value of {} is taken", t.name, key.name), e.to_string());
            }
        }
    }
    findings.assert_none();
}

#[test]
fn required_keys_are_required() {
    let mut findings = Findings::default();
    for t in registry::types() {
        for key in keys_of(t).into_iter().filter(|key| key.default.is_empty()) {
            match try_build(t.name, &with(t.example, key.name, None)) {
                Ok(_) => findings.add(format!("{}: {} is not required", t.name, key.name), t.example),
                Err(e) => check_message(&mut findings, t, key.name, false, &e.to_string()),
            }
        }
    }
    findings.assert_none();
}

/// The message names the place and the key; if `any`, it may name another key that does not go with it.
fn check_message(findings: &mut Findings, t: &'static ComponentType, key: &str, any: bool, message: &str) {
    // The line itself is shown too; that is not enough.
    let sentence = message.split("\n  in the line: ").next().unwrap_or_default();
    let named = sentence.contains(key) || (any && keys_of(t).iter().any(|k| sentence.contains(k.name)));
    if !(named && sentence.contains(PLACE)) {
        findings.add(format!("{}: an error about {key} does not name it and the line", t.name), message);
    }
}

/// Keys of other types, and misspelt ones.
#[test]
fn other_keys_are_refused() {
    let mut all: BTreeSet<String> = updatable::KEYS.iter().map(|key| key.name.to_string()).collect();
    all.extend(registry::types().flat_map(|t| t.keys()).map(|key| key.name.to_string()));
    all.extend(registry::types().flat_map(|t| t.keys()).map(|key| key.name.replace('-', "_") + "s"));
    let mut findings = Findings::default();
    for t in registry::types() {
        let own = keys_of(t);
        for key in all.iter().filter(|key| own.iter().all(|k| k.name != **key)) {
            match try_build(t.name, &with(t.example, key, Some("1"))) {
                Ok(_) => findings.add(format!("{}: takes {key}, which it does not list", t.name), t.example),
                Err(e) if e.to_string().contains(&format!("unused key: {key}=1")) => {
                    check_message(&mut findings, t, key, false, &e.to_string())
                }
                Err(e) => {
                    findings.add(format!("{}: reads {key}, which it does not list", t.name), e.to_string())
                }
            }
        }
    }
    findings.assert_none();
}

/// Values that no key of this kind may take.
fn never_right(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Int => &["x", "''", "1e30", "nan", "0.5", "4294967296", "1,2"],
        Kind::Float => &["x", "''", "1,2", "--1"],
        Kind::Bool => &["x", "''", "1"],
        Kind::IntList => &["x", "0.5", "4294967296", "1,x"],
        Kind::String => &[],
        Kind::File => &["''", "/no/such/file", "exit 3|"],
    }
}

const DOUBTFUL: [&str; 22] = [
    "x",
    "''",
    "-1",
    "0",
    "1e30",
    "nan",
    "inf",
    "-inf",
    "-0.0",
    "1e-40",
    "0.5",
    "2147483647",
    "-2147483648",
    "4294967296",
    "1,2",
    ",",
    "1,,2",
    "0,0",
    "2147483647,2147483647",
    "-2147483648,2147483647",
    "true",
    "\u{e4}\u{20ac}",
];

/// Uses a new component in every way that must work.
fn use_it(component: &dyn Component) {
    for binary in [true, false] {
        written(component, binary);
    }
    component.info(true);
    component.clone_box().scale(0.0);
}

#[test]
fn wrong_values_are_refused_or_work() {
    let mut findings = Findings::default();
    for t in registry::types() {
        let before = peak_memory();
        findings.merge(in_time(t.name, || wrong_values(t)));
        let grown = peak_memory().zip(before).map_or(0, |(after, before)| after - before);
        if grown > 1 << 30 {
            findings.add(format!("{}: {} MiB for a config line", t.name, grown >> 20), t.name);
        }
    }
    findings.assert_none();
}

fn wrong_values(t: &'static ComponentType) -> Findings {
    let mut findings = Findings::default();
    for key in keys_of(t) {
        let base = alternative(t, key.name).unwrap_or_else(|| t.example.to_string());
        for value in DOUBTFUL.iter().chain(never_right(key.kind)) {
            let keys = with(&base, key.name, Some(value));
            let result = findings.guard(t.name, keys.as_bytes(), || {
                try_build(t.name, &keys).inspect(|component| use_it(&**component)).map(|_| ())
            });
            match result {
                None => {}
                // The fault of a huge value may be a size that several keys determine.
                Some(Err(e)) if value.len() > 9 && e.to_string().contains("too many") => {}
                // And in a composite, the number of parts may be more than there are.
                Some(Err(e)) if e.to_string().contains("' is missing") => {}
                Some(Err(e)) => check_message(&mut findings, t, key.name, true, &e.to_string()),
                Some(Ok(())) if never_right(key.kind).contains(value) => {
                    findings.add(format!("{}: {}={value} is taken", t.name, key.name), keys)
                }
                Some(Ok(())) => {}
            }
        }
    }
    findings
}

/// Keys together that may each be right.
#[test]
fn random_lines_do_not_panic() {
    let mut findings = Findings::default();
    for t in registry::types() {
        findings.merge(in_time(t.name, || random_lines(t)));
    }
    findings.assert_none();
}

fn random_lines(t: &'static ComponentType) -> Findings {
    const NUMBERS: [&str; 12] = ["-2", "-1", "0", "1", "2", "3", "4", "5", "6", "12", "0.5", "1e-3"];
    const LISTS: [&str; 8] = ["0", "0,1", "-1,0,2", "1,1", "0,1,2,3", "-3,3,6", "2,1,0", "1,0"];
    let mut findings = Findings::default();
    let mut rng = fastrand::Rng::with_seed(t.name.len() as u64);
    let numeric = example(t);
    assert_eq!(numeric.type_name(), t.name);
    for _ in 0..200 {
        let mut keys = t.example.to_string();
        for key in keys_of(t) {
            let value = match key.kind {
                _ if rng.u8(..3) > 0 => continue,
                Kind::Int | Kind::Float => NUMBERS[rng.usize(..NUMBERS.len())],
                Kind::Bool => ["true", "false"][rng.usize(..2)],
                Kind::IntList | Kind::String => LISTS[rng.usize(..LISTS.len())],
                Kind::File => continue,
            };
            keys = with(&keys, key.name, Some(value));
        }
        findings.guard(t.name, keys.as_bytes(), || {
            drop(try_build(t.name, &keys).inspect(|component| use_it(&**component)))
        });
    }
    findings
}
