//! Files of other programs, and descriptions of networks, that people give in the place of a model.

pub(super) const NNET2: &str = "a network of nnet2, which no program here reads";
pub(super) const NNET1: &str = "a network of nnet1, which no program here reads";
pub(super) const ONNX: &str =
    "an ONNX model (nnet3-export writes such models, and no program here reads them)";
const ZIP: &str = "a zip archive (unpack it first)";
const TORCH: &str = "a file of PyTorch (nnet3-import reads tensors from safetensors files alone)";
const HTML: &str = "an HTML page, as a failed download leaves it";

/// First bytes of files, and their kinds.
const MARKS: [(&[u8], &str); 12] = [
    (b"PK\x05\x06", ZIP),
    (b"BZh", "a file compressed by bzip2 (give 'bunzip2 -c FILE |' in its place)"),
    (b"\xfd7zXZ\0", "a file compressed by xz (give 'xz -dc FILE |' in its place)"),
    (b"\x28\xb5\x2f\xfd", "a file compressed by zstd (give 'zstd -dc FILE |' in its place)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive (unpack it first)"),
    (b"version https://git-lfs", "the placeholder of a file in Git LFS (git lfs pull fetches the file)"),
    (b"%PDF", "a PDF file"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\x7fELF", "a program or a library"),
    (b"<?xml", "an XML file"),
    (b"\x80\x02", TORCH),
    (b"\x80\x04", TORCH),
];

/// The place of a tar archive's mark.
const TAR: usize = 257;

/// Bytes before the name of the first file in a zip archive.
const ZIP_HEADER: usize = 30;

/// Lines of configs begin with these words.
const CONFIG: [&str; 5] = ["component", "component-node", "input-node", "output-node", "dim-range-node"];

/// The kind of a file that is no object of Kaldi, with its article and maybe a remark. `None` if it is not known.
pub(super) fn name(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, name)) = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark)) {
        return Some(name);
    }
    if bytes.starts_with(b"PK\x03\x04") {
        let first = bytes.get(ZIP_HEADER..).unwrap_or_default();
        let is_torch = first.windows(8).take(64).any(|part| part == b"data.pkl");
        return Some(if is_torch { TORCH } else { ZIP });
    }
    if bytes.get(TAR..).is_some_and(|mark| mark.starts_with(b"ustar")) {
        return Some("a tar archive (unpack it first)");
    }
    if is_onnx(bytes) {
        return Some(ONNX);
    }
    if is_safetensors(bytes) {
        return Some("a safetensors file (nnet3-import makes the model of it that nnet3-export wrote)");
    }
    is_page(bytes).then_some(HTML)
}

/// A network of an older form, whose first token was read.
pub(super) fn old_network(token: &str, after: &[u8]) -> Option<&'static str> {
    let is_nnet2 = after.trim_ascii_start().starts_with(b"<NumComponents>");
    (token == "<Nnet>").then_some(if is_nnet2 { NNET2 } else { NNET1 })
}

/// True if a message of protocol buffers begins as ONNX's: the version of its form, then another field.
fn is_onnx(bytes: &[u8]) -> bool {
    let [8, 1..=32, field, length, ..] = *bytes else { return false };
    match field {
        // The name of a program.
        0x12 => bytes[4..].iter().take(length.into()).all(|byte| byte.is_ascii_graphic() || *byte == b' '),
        // Its version, a domain, the version of the model, a description, the graph, the versions of operators.
        0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42 => true,
        _ => false,
    }
}

/// True if a length and an object of JSON come first.
fn is_safetensors(bytes: &[u8]) -> bool {
    bytes.get(8..10) == Some(&b"{\""[..]) && bytes[5..8] == [0; 3]
}

fn is_page(bytes: &[u8]) -> bool {
    let begin: Vec<u8> = bytes.trim_ascii_start().iter().take(14).map(u8::to_ascii_lowercase).collect();
    begin.starts_with(b"<!doctype html") || begin.starts_with(b"<html")
}

/// A description of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Description {
    Config,
    Xconfig,
}

/// Tells configs and xconfigs from other texts by their first line that is no comment.
pub(super) fn description(text: &str) -> Option<Description> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    if !words.clone().next()?.contains('=') {
        return None;
    }
    if CONFIG.contains(&first) {
        return Some(Description::Config);
    }
    let is_layer = matches!(first, "input" | "output") || first.ends_with("-layer");
    (is_layer && words.any(|word| word.starts_with("name="))).then_some(Description::Xconfig)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_programs() {
        let mut tar = vec![b'a'; TAR];
        tar.extend(b"ustar\0");
        for (bytes, expected) in [
            // (PyTorch's exporter, onnxruntime's, and a model with its operators first.)
            (&b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:"[..], "an ONNX model"),
            (b"\x08\x07:\x9d\x8e\x09\x0a", "an ONNX model"),
            (b"\x08\x0aB\x04\x0a\0\x10\x11", "an ONNX model"),
            (b"PK\x03\x04\x14\0\0\0\x08\0aaaaaaaaaaaaaaaaaaaamodel/final.mdl", "a zip archive"),
            (b"PK\x03\x04\0\0\x08\x08\0\0aaaaaaaaaaaaaaaaaaaaarchive/data.pkl", "a file of PyTorch"),
            (b"\x58\x02\0\0\0\0\0\0{\"__metadata__\":", "a safetensors file"),
            (b"BZh91AY&SY", "a file compressed by bzip2"),
            (&tar, "a tar archive"),
            (b"\n <!DOCTYPE HTML>\n<html>", "an HTML page"),
            (b"<html lang=\"en\">", "an HTML page"),
            (
                b"version https://git-lfs.github.com/spec/v1\noid sha256:12\n",
                "the placeholder of a file in Git LFS",
            ),
        ] {
            let found = name(bytes);
            assert!(found.is_some_and(|found| found.starts_with(expected)), "{expected}: {found:?}");
        }
        for other in [
            &b""[..],
            b"\x08",
            b"\x08\x01\x02\x03\x04",
            b"\0B<Nnet3> ",
            b"<Nnet3> \n",
            b"\xd6\xfd\xb2\x7e\x06\0\0\0vector",
            b"key [ 1 2 ]\n",
        ] {
            assert_eq!(name(other), None, "{}", other.escape_ascii());
        }
    }

    #[test]
    fn descriptions_of_networks() {
        for (text, expected) in [
            ("# a comment\n\n  input dim=40 name=input\n", Some(Description::Xconfig)),
            ("relu-batchnorm-layer name=tdnn1 dim=8\n", Some(Description::Xconfig)),
            ("component name=a type=NoOpComponent dim=4\n", Some(Description::Config)),
            ("input-node name=input dim=40\n", Some(Description::Config)),
            // Edits of a network, words, and options.
            ("set-learning-rate name=a learning-rate=0.1\n", None),
            ("input this is a text name=x\n", None),
            ("component of a machine\n", None),
            ("--use-energy=false\n", None),
            ("", None),
        ] {
            assert_eq!(description(text), expected, "{text}");
        }
    }
}
