//! Remarks on files and folders that are no recognisers: what they are, and what to do.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use kaldi_io::Contents;

/// Bytes at the end of a zip archive that have the names of its files, as a rule.
const END: i64 = 1 << 16;

/// Bytes at the beginning that tell the kind of a file.
const BEGIN: u64 = 512;

/// A remark on something that is no folder; empty if nothing is known of it.
pub(crate) fn of_file(path: &str) -> String {
    if !Path::new(path).is_file() {
        return String::new();
    }
    let (first, last) = ends(path).unwrap_or_default();
    let has = |name: &[u8]| last.windows(name.len()).any(|part| part == name);
    let known = if first.starts_with(b"PK") {
        if has(b"final.mdl") && has(b"meta.json") && !has(b"am/final.mdl") {
            ", an acoustic model of the Montreal Forced Aligner, which aligns (nnet3-align --model), and has no graph to \
             recognise with"
        } else {
            ", a zip archive: unpack it, and give the folder in it"
        }
    } else if first.starts_with(&[0x1f, 0x8b]) || first.starts_with(b"BZh") || first.starts_with(b"\xfd7zXZ")
    {
        ", which is compressed: unpack it, and give the folder in it"
    } else {
        return match Contents::of(&first) {
            Some(Contents::Text | Contents::ScriptLine) | None => String::new(),
            Some(contents) => format!(", {contents}"),
        };
    };
    known.to_owned()
}

/// The first and the last bytes of a file.
fn ends(path: &str) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let mut file = std::fs::File::open(path)?;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    file.by_ref().take(BEGIN).read_to_end(&mut first)?;
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::End(-END.min(length as i64)))?;
    file.take(END as u64).read_to_end(&mut last)?;
    Ok((first, last))
}

/// A remark on a folder that lacks files of a recogniser; empty if nothing is known of it.
pub(crate) fn of_folder(folder: &str) -> String {
    let has = |name: &str| Path::new(folder).join(name).is_file();
    if has("final.mdl") && has("tree") && has("phones.txt") && !has("HCLG.fst") && !has("HCLr.fst") {
        return "; it is a model without a graph, which aligns (nnet3-align --model) and cannot recognise"
            .to_owned();
    }
    if has("model/am/final.mdl") {
        return format!("; the folder of recognizer.sh has the model in it: give {folder}/model");
    }
    let above = Path::new(folder).join("..");
    if above.join("am/final.mdl").is_file() {
        let model = match Path::new(folder).parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.display().to_string(),
            _ => above.display().to_string(),
        };
        return format!("; it is a part of a model: give {model}");
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut inside: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.join("am/final.mdl").is_file()).collect();
    inside.sort();
    match inside.first() {
        Some(model) => format!("; give {}, which is a model", model.display()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_recogniser_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let put = |name: &str, content: &[u8]| {
            std::fs::create_dir_all(Path::new(&path(name)).parent().unwrap()).unwrap();
            std::fs::write(path(name), content).unwrap();
        };
        put("mfa.zip", &[b"PK\x03\x04", &[0; 100_000][..], b"m/final.mdl m/meta.json"].concat());
        put("vosk.zip", b"PK\x03\x04 v/am/final.mdl v/meta.json");
        put("a.tgz", &[0x1f, 0x8b, 8]);
        put("empty", b"");
        assert!(of_file(&path("mfa.zip")).contains("Montreal Forced Aligner"));
        assert!(of_file(&path("vosk.zip")).contains("unpack it"));
        assert!(of_file(&path("a.tgz")).contains("unpack it"));
        assert_eq!((of_file(&path("empty")), of_file(&path("none"))), (String::new(), String::new()));
        put("a.onnx", b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:");
        put("final.mdl", b"\0B<TransitionModel> <Topology> ");
        put("notes.txt", b"a text\n");
        assert!(of_file(&path("a.onnx")).starts_with(", an ONNX model ("));
        assert_eq!(of_file(&path("final.mdl")), ", an acoustic model, or the transition model of one");
        assert_eq!(of_file(&path("notes.txt")), "");
        for name in [
            "gauss/final.mdl",
            "gauss/tree",
            "gauss/phones.txt",
            "exp/model/am/final.mdl",
            "out/vosk-x/am/final.mdl",
        ] {
            put(name, b"");
        }
        assert!(of_folder(&path("gauss")).contains("nnet3-align --model"));
        assert!(of_folder(&path("exp")).contains("exp/model"));
        assert!(of_folder(&path("out")).contains("out/vosk-x"));
        for part in ["exp/model/am", "exp/model/graph"] {
            std::fs::create_dir_all(path(part)).unwrap();
            assert_eq!(
                of_folder(&path(part)),
                format!("; it is a part of a model: give {}", path("exp/model"))
            );
        }
        assert_eq!(of_folder(&path("none")), "");
    }
}
