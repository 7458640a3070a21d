//! Expansions agree with the reference's (`data/README.md`), and the networks can be made.

use nnet3_core::Random;
use nnet3_core::config::parse_config;
use nnet3_core::graph::FrameContext;
use nnet3_core::nnet::Nnet;
use nnet3_xconfig::{Config, Network, expand, registry};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn cases() -> Vec<(String, PathBuf)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<(String, PathBuf)> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "xconfig"))
        .map(|path| (std::fs::read_to_string(&path).unwrap(), path.with_extension("")))
        .collect();
    cases.sort_by(|a, b| a.1.cmp(&b.1));
    assert!(cases.len() >= 20);
    cases
}

fn network(text: &str, folder: &Path) -> Network {
    let file = folder.with_extension("xconfig");
    expand(&file.display().to_string(), text, Vec::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn lines(path: &Path) -> Option<Vec<String>> {
    std::fs::read_to_string(path).ok().map(|text| text.lines().map(str::to_owned).collect())
}

fn assert_same(path: &Path, ours: Option<Vec<String>>, expected: Option<Vec<String>>) {
    if ours == expected {
        return;
    }
    let (ours, expected) = (ours.unwrap_or_default(), expected.unwrap_or_default());
    for (ours, expected) in ours.iter().zip(&expected) {
        assert_eq!(ours, expected, "{}", path.display());
    }
    assert_eq!(ours.len(), expected.len(), "number of lines of {}", path.display());
    panic!("{}: only one of the files exists", path.display());
}

#[test]
fn configs() {
    for (text, folder) in cases() {
        let network = network(&text, &folder);
        let last = folder.join("final.config");
        assert_same(&last, network.config(Config::Final), lines(&last));
        let reference = folder.join("ref.config");
        let expected = lines(&reference).or_else(|| lines(&last));
        assert_same(&reference, network.config(Config::Reference), expected);
        let init = folder.join("init.config");
        assert_same(&init, network.config(Config::Init), lines(&init));
    }
}

#[test]
fn expanded_xconfigs() {
    for (text, folder) in cases() {
        let network = network(&text, &folder);
        let path = folder.join("xconfig.expanded.1");
        assert_same(&path, Some(network.expanded()), lines(&path));
        let path = folder.join("xconfig.expanded.2");
        assert_same(&path, Some(network.normalized()), lines(&path));
        // The normal form means the same.
        let again = network_of_lines(&network.normalized(), &folder);
        assert_eq!(again.config(Config::Final), network.config(Config::Final), "{}", path.display());
    }
}

/// An expansion as an input: without the key that the tool adds.
fn network_of_lines(lines: &[String], folder: &Path) -> Network {
    let without = |line: &String| {
        let words = line.split(' ').filter(|word| !(word.starts_with("num-filters-in=")));
        words.collect::<Vec<_>>().join(" ")
    };
    network(&lines.iter().map(without).collect::<Vec<_>>().join("\n"), folder)
}

#[test]
fn matrices() {
    let mut count = 0;
    for (text, folder) in cases() {
        for matrix in network(&text, &folder).matrices() {
            let path = folder.join(&matrix.path);
            assert_eq!(matrix.text, std::fs::read_to_string(&path).unwrap(), "{}", path.display());
            count += 1;
        }
    }
    assert_eq!(count, 3);
}

#[test]
fn networks_and_their_context() {
    for (_, folder) in cases() {
        let name = folder.display().to_string();
        let config =
            lines(&folder.join("ref.config")).or_else(|| lines(&folder.join("final.config"))).unwrap();
        let config: Vec<String> =
            config.into_iter().map(|line| line.replace("matrix=", &format!("matrix={name}/"))).collect();
        let mut nnet = Nnet::default();
        let parsed = parse_config(&name, config.iter().map(String::as_str)).unwrap();
        nnet.read_config(parsed, &Random::new(0)).unwrap_or_else(|e| panic!("{e}"));
        let (left, right) = nnet.context().unwrap();
        let vars = format!("model_left_context={left}\nmodel_right_context={right}\n");
        assert_eq!(vars, std::fs::read_to_string(folder.join("vars")).unwrap(), "{name}");
    }
}

#[test]
fn every_layer_type_occurs() {
    let used: BTreeSet<String> = cases()
        .iter()
        .flat_map(|(text, _)| text.lines().filter_map(|line| line.split_whitespace().next()))
        .map(str::to_owned)
        .collect();
    let unused: Vec<&str> = registry::types().map(|t| t.name).filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn every_key_is_given_somewhere() {
    let mut seen = BTreeSet::new();
    for (text, _) in cases() {
        for line in text.lines().filter_map(|line| nnet3_xconfig::line::parse(line).unwrap()) {
            seen.extend(line.pairs.into_iter().map(|(key, _)| key));
        }
    }
    for key in registry::types().flat_map(|t| t.all_keys()).map(|key| key.name) {
        assert!(seen.contains(key), "{key}");
    }
}
