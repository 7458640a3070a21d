//! Acoustic models of the Montreal Forced Aligner as zip archives.
//!
//! The names of entries become no paths: files with known names are taken, whatever folders they are in, and all others are
//! left.

use std::io::Read;
use std::path::Path;

use flate2::bufread::DeflateDecoder;
use kaldi_io::Contents;
use rawzip::{CompressionMethod, ZipArchive};
use tempfile::TempDir;

use crate::{Error, Result, kind};

/// Files of a model.
const FILES: [&str; 7] =
    ["final.mdl", "final.alimdl", "tree", "lda.mat", "phones.txt", "meta.json", "meta.yaml"];

/// The largest archive, and the largest file in one, in bytes.
const LARGEST: u64 = 1 << 30;

/// Unpacks the model's files into a temporary folder, which goes with the result.
///
/// # Errors
/// It is no zip archive, is damaged, or has files of a name twice or too large ones; a model's file is missing.
pub(crate) fn unpack(file: &Path) -> Result<TempDir> {
    let data = read(file)?;
    let fail = |message: String| Error::file(file, message);
    let damaged = |error: rawzip::Error| fail(format!("expected a zip archive of a model: {error}"));
    let no_zip = |error: rawzip::Error| match kind::of_file(&data) {
        Some(sentence) => fail(sentence.to_owned()),
        None => match Contents::of(&data) {
            Some(kind) => fail(format!("expected the folder or the zip archive of a model, found {kind}")),
            None => damaged(error),
        },
    };
    let archive = ZipArchive::from_slice(&data[..]).map_err(no_zip)?;
    let (mut names, mut entries) = (Vec::new(), archive.entries());
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        names.push(String::from_utf8_lossy(entry.file_path().as_ref()).replace('\\', "/"));
    }
    if let Some(sentence) = kind::of_archive(&names) {
        return Err(fail(sentence));
    }
    let folder = TempDir::with_prefix("nnet3-model-").map_err(|source| Error::io(file, source))?;
    let mut found: Vec<&str> = Vec::new();
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        let path = entry.file_path();
        let name = path.as_ref().rsplit(|&byte| byte == b'/' || byte == b'\\').next().unwrap_or_default();
        let Some(&name) = FILES.iter().find(|known| known.as_bytes() == name) else { continue };
        if found.contains(&name) {
            return Err(fail(format!("the archive has several files '{name}'")));
        }
        found.push(name);
        let local = archive.get_entry(entry.wayfinder()).map_err(damaged)?;
        let compressed: Box<dyn Read + '_> = match entry.compression_method() {
            CompressionMethod::Store => Box::new(local.data()),
            CompressionMethod::Deflate => Box::new(DeflateDecoder::new(local.data())),
            other => return Err(fail(format!("'{name}' is compressed by {other:?}, expected deflate"))),
        };
        let mut content = Vec::new();
        let of_entry = |error: std::io::Error| fail(format!("'{name}' in the archive is damaged: {error}"));
        local.verifying_reader(compressed).take(LARGEST + 1).read_to_end(&mut content).map_err(of_entry)?;
        if content.len() as u64 > LARGEST {
            return Err(fail(format!("'{name}' in the archive has more than {LARGEST} bytes")));
        }
        let to = folder.path().join(name);
        std::fs::write(&to, content).map_err(|source| Error::io(&to, source))?;
    }
    if !found.contains(&"meta.json") && found.contains(&"meta.yaml") {
        return Err(fail(
            "the model is of the Montreal Forced Aligner before 2.0, which is not supported".into(),
        ));
    }
    match ["final.mdl", "tree", "phones.txt", "meta.json"].iter().find(|name| !found.contains(*name)) {
        Some(name) => {
            Err(fail(format!("expected an acoustic model of the Montreal Forced Aligner, found no {name}")))
        }
        None => Ok(folder),
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    let open = std::fs::File::open(file).map_err(|source| Error::io(file, source))?;
    open.take(LARGEST + 1).read_to_end(&mut data).map_err(|source| Error::io(file, source))?;
    match data.len() as u64 > LARGEST {
        true => Err(Error::file(file, format!("expected at most {LARGEST} bytes"))),
        false => Ok(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut archive = rawzip::ZipArchiveWriter::new(&mut out);
        for (name, content) in files {
            let (mut entry, config) =
                archive.new_file(name).compression_method(CompressionMethod::Deflate).start().unwrap();
            let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
            let mut writer = config.wrap(encoder);
            writer.write_all(content).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            entry.finish(descriptor).unwrap();
        }
        archive.finish().unwrap();
        out
    }

    fn unpacked(files: &[(&str, &[u8])], damage: impl Fn(&mut Vec<u8>)) -> Result<TempDir> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.zip");
        let mut data = archive(files);
        damage(&mut data);
        std::fs::write(&file, data).unwrap();
        unpack(&file)
    }

    const MODEL: [(&str, &[u8]); 4] =
        [("m/final.mdl", b"model"), ("m/tree", b"tree"), ("m/phones.txt", b"a 1"), ("m/meta.json", b"{}")];

    #[test]
    fn files_of_a_model_are_taken_and_no_entry_becomes_a_path() {
        let mut files = MODEL.to_vec();
        files.extend([("../../lda.mat", &b"lda"[..]), ("../evil", b"x"), ("/etc/evil", b"x")]);
        let folder = unpacked(&files, |_| ()).unwrap();
        let mut names: Vec<_> =
            folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["final.mdl", "lda.mat", "meta.json", "phones.txt", "tree"]);
        assert_eq!(std::fs::read(folder.path().join("tree")).unwrap(), b"tree");
    }

    #[test]
    fn damaged_and_foreign_archives_are_errors() {
        let says = |result: Result<TempDir>| result.unwrap_err().to_string();
        assert!(says(unpacked(&MODEL[..2], |_| ())).contains("found no phones.txt"));
        let twice = [MODEL[0], ("n/final.mdl", b"other")];
        assert!(says(unpacked(&twice, |_| ())).contains("several files 'final.mdl'"));
        assert!(says(unpacked(&[("meta.yaml", b"")], |_| ())).contains("before 2.0"));
        assert!(says(unpacked(&MODEL, |data| data.truncate(100))).contains("zip archive"));
        // (A byte of the compressed model.)
        assert!(
            says(unpacked(&MODEL, |data| data[30 + 11 + 3] ^= 0x55))
                .contains("'final.mdl' in the archive is damaged")
        );
    }
}
