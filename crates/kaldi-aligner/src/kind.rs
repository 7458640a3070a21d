//! Sentences about files and folders that are no models for alignment: what they are, and what to do.

use std::path::{Path, PathBuf};

use kaldi_hmm::TransitionModel;
use kaldi_io::{KaldiObject, KaldiReader};

use crate::{Error, Result};

/// Fails for a folder without the files of a model of Gaussians, or with a neural network.
pub(crate) fn check(folder: &Path) -> Result<()> {
    let mdl = folder.join("final.mdl");
    let message = match mdl.is_file() {
        true if is_network(&mdl) => "final.mdl is a neural network, and there is no graph beside it: give the folder of the recogniser \
             that it belongs to, which has am/ and graph/ (the folder that recognizer.sh writes has it as model)"
            .to_owned(),
        true if is_of_chain(&mdl) => "final.mdl belongs to the tree of a chain model: one rough Gaussian a leaf, which cannot align".to_owned(),
        true => return Ok(()),
        false => without_model(folder),
    };
    Err(Error::file(folder, message))
}

fn without_model(folder: &Path) -> String {
    if !folder.exists() {
        return "there is no such file or folder: expected a model".to_owned();
    }
    let is_recogniser = ["am/final.mdl", "model/am/final.mdl"].iter().any(|file| folder.join(file).is_file());
    if is_recogniser {
        return "expected a model of Gaussians, found a recogniser with a neural network, which cannot align here".to_owned();
    }
    let expected = "expected a folder with final.mdl, tree and phones.txt";
    let models = models_below(folder);
    match models.is_empty() {
        true => format!("{expected}, found no final.mdl"),
        false => {
            format!("{expected}, found no final.mdl; give one of the models in it: {}", models.join(", "))
        }
    }
}

/// Folders that are visited, and models that are named.
const MOST_FOLDERS: usize = 2000;
const MOST_NAMED: usize = 5;

/// Models in the sub-folders of a folder, and in theirs.
fn models_below(folder: &Path) -> Vec<String> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FOLDERS);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let is_model = |path: &Path| match path.is_dir() {
        true => {
            path.join("am/final.mdl").is_file()
                || (["final.mdl", "tree", "phones.txt"].iter().all(|file| path.join(file).is_file())
                    && !is_network(&path.join("final.mdl"))
                    && !is_of_chain(&path.join("final.mdl")))
        }
        false => path.extension().is_some_and(|ending| ending == "zip"),
    };
    let first = entries(folder);
    let second: Vec<PathBuf> =
        first.iter().filter(|path| path.is_dir()).flat_map(|path| entries(path)).take(MOST_FOLDERS).collect();
    let found = first.iter().chain(&second).filter(|path| is_model(path)).take(MOST_NAMED);
    found.map(|path| path.display().to_string()).collect()
}

/// True for an acoustic model whose pdfs are outputs of a network.
fn is_network(mdl: &Path) -> bool {
    let first = || -> Option<String> {
        let mut r = KaldiReader::open(mdl.to_str()?).ok()?;
        TransitionModel::read(&mut r).ok()?;
        r.read_token().ok()
    };
    first().as_deref() == Some("<Nnet3>")
}

/// True for a model whose phones have the topology of chain models: one state, whose first frame has a pdf of its own.
fn is_of_chain(mdl: &Path) -> bool {
    let model = || TransitionModel::read(&mut KaldiReader::open(mdl.to_str()?).ok()?).ok();
    model().is_some_and(|model| {
        model.states().iter().any(|state| state.self_loop_pdf.is_some_and(|pdf| pdf != state.forward_pdf))
    })
}

/// A sentence about a file that is no zip archive, from its first bytes.
pub(crate) fn of_file(first: &[u8]) -> Option<&'static str> {
    let text = first.strip_prefix(b"\0B").unwrap_or(first);
    if first.starts_with(&[0x1f, 0x8b]) || first.starts_with(b"BZh") || first.starts_with(b"\xfd7zXZ") {
        Some("the file is compressed, and no zip archive: unpack it, and give the folder of the model in it")
    } else if text.starts_with(b"<TransitionModel>") || text.starts_with(b"<Nnet3>") {
        Some("the file is a part of a model: give the folder that it is in")
    } else {
        None
    }
}

/// A sentence about an archive of another kind, by the names in it; `None` if it may have an acoustic model.
pub(crate) fn of_archive(names: &[String]) -> Option<String> {
    let has =
        |end: &str| names.iter().find(|name| name.as_str() == end || name.ends_with(&format!("/{end}")));
    if let Some(mdl) =
        ["am/final.mdl", "graph/HCLG.fst", "HCLG.fst", "HCLr.fst"].iter().find_map(|end| has(end))
    {
        let inside = mdl.split_once('/').map_or("", |(folder, _)| folder);
        let folder = if matches!(inside, "am" | "graph" | "") { String::new() } else { format!(" {inside}") };
        return Some(format!(
            "the archive is a recogniser ('{mdl}' is in it): unpack it, and give the folder{folder}, which nnet3-align and \
             nnet3-transcribe read"
        ));
    }
    if has("final.mdl").or_else(|| has("meta.yaml")).is_some() {
        return None;
    }
    let expected = "expected an acoustic model of the Montreal Forced Aligner, found";
    if has("graphemes.txt").or_else(|| has("model.fst")).is_some() {
        return Some(format!("{expected} its model of pronunciations (G2P)"));
    }
    if names.iter().any(|name| name.ends_with(".arpa")) {
        return Some(format!("{expected} a language model"));
    }
    if has("final.ie").is_some() {
        return Some(format!("{expected} an extractor of i-vectors"));
    }
    let first: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
    Some(format!(
        "{expected} no final.mdl, but {}",
        if first.is_empty() { "nothing".to_owned() } else { first.join(", ") }
    ))
}

#[cfg(test)]
mod tests {
    use kaldi_lang::topology;

    use super::*;

    #[test]
    fn archives_of_other_kinds_are_named() {
        let says = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            of_archive(&names).unwrap_or_default()
        };
        let vosk = says(&["vosk-model/am/final.mdl", "vosk-model/graph/HCLr.fst"]);
        assert!(vosk.contains("is a recogniser") && vosk.contains("give the folder vosk-model,"), "{vosk}");
        assert!(says(&["am/final.mdl"]).contains("give the folder, which"));
        assert!(says(&["m/final.mdl", "m/HCLG.fst"]).contains("is a recogniser"));
        assert_eq!(says(&["english/final.mdl", "english/tree"]), "");
        assert!(says(&["g2p/model.fst", "g2p/phones.txt"]).contains("(G2P)"));
        assert!(says(&["lm/lm.arpa"]).contains("language model"));
        assert!(says(&["a.wav", "b.wav"]).contains("no final.mdl, but a.wav, b.wav"));
    }

    #[test]
    fn a_chain_model_is_told_by_its_topology() {
        let folder = tempfile::tempdir().unwrap();
        let mdl = folder.path().join("final.mdl");
        let topologies = [(topology::chain(vec![1, 2]), true), (topology::hmm(vec![1], vec![2]), false)];
        for (topology, expected) in topologies {
            let topology = topology.unwrap();
            let tree = kaldi_tree::stub::monophone(&[vec![1], vec![2]], &topology, &mut |_| {}).unwrap();
            let model = TransitionModel::new(&tree, topology).unwrap();
            kaldi_io::write_object(mdl.to_str().unwrap(), true, &model).unwrap();
            assert_eq!(is_of_chain(&mdl), expected);
            assert_eq!(check(folder.path()).is_err(), expected);
        }
        assert!(!is_of_chain(folder.path()));
    }

    #[test]
    fn folders_without_a_model_name_those_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let says = |name: &str| check(&at(name)).unwrap_err().to_string();
        assert!(says("none").contains("no such file or folder"));
        for name in [
            "exp/gauss/model/final.mdl",
            "exp/gauss/model/tree",
            "exp/gauss/model/phones.txt",
            "exp/v/am/final.mdl",
            "exp/english.zip",
            "exp/ali/final.mdl",
            "exp/ali/tree",
        ] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        let text = says("exp");
        for name in ["exp/gauss/model", "exp/v", "exp/english.zip"] {
            assert!(text.contains(&at(name).display().to_string()), "{text}");
        }
        assert!(!text.contains("ali"), "{text}");
        assert!(says("exp/v").contains("a recogniser with a neural network"));
        assert!(check(&at("exp/gauss/model")).is_ok());
    }
}
