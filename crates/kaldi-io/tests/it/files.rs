//! Opening files, pipes and offsets; complete files or none.

use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

use crate::common::{Folder, message};
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, KaldiReader, KaldiWriter, read_object, write_object};

fn m() -> DenseMatrix<f32> {
    DenseMatrix::from_rows(&[[1.0, 2.0], [3.0, -0.5]])
}

#[test]
fn files_and_pipes() {
    let folder = Folder::new();
    let path = folder.path("m");
    for binary in [true, false] {
        write_object(&path, binary, &m()).unwrap();
        assert_eq!(folder.read("m").starts_with(b"\0B"), binary);
        assert_eq!(read_object::<DenseMatrix<f32>>(&path).unwrap(), m());
        assert_eq!(read_object::<DenseMatrix<f32>>(&format!("cat {path} |")).unwrap(), m());
        write_object(&format!("| cat > {path}2"), binary, &m()).unwrap();
        assert_eq!(folder.read("m2"), folder.read("m"));
    }
    let shifted = folder.write("s", [b"junk", &folder.read("m")[..]].concat());
    assert_eq!(read_object::<DenseMatrix<f32>>(&format!("{shifted}:4")).unwrap(), m());
    assert_eq!(read_matrix::<f64>(&format!("{shifted}:4[1:1,0:0]")).unwrap().data, [3.0]);
    assert!(read_object::<DenseMatrix<f32>>(&format!("{shifted}:400")).is_err());
    assert!(read_object::<DenseMatrix<f32>>("false |").is_err());
    let failing = message(read_object::<DenseMatrix<f32>>(&format!("cat {path}; exit 4 |")));
    assert!(failing.contains("exit status: 4"), "{failing}");
    // A command that is not listened to until its end has not failed.
    assert_eq!(read_object::<DenseMatrix<f32>>(&format!("cat {path}; yes |")).unwrap(), m());
    assert!(message(read_object::<DenseMatrix<f32>>("/")).contains('/'));
}

/// Marks at any position relative to the reader's buffer, and a text that begins like the mark but differs from it.
#[test]
fn skipping_to_a_mark() {
    for before in [0, 1, 5, 131_066, 131_071, 131_072, 300_000] {
        let bytes =
            [&b"<ma<".repeat(before / 4)[..], &b"\n".repeat(before % 4), b"<mark> next <mark>!"].concat();
        let mut r = KaldiReader::from_read("test", std::io::Cursor::new(bytes));
        r.skip_past("<mark>").unwrap();
        assert_eq!(r.read_token().unwrap(), "next", "{before}");
        r.skip_past("<mark>").unwrap();
        let error = message(r.skip_past("<mark>"));
        assert!(
            error.contains(&format!("line {}: the file ends before '<mark>'", 1 + before % 4)),
            "{error}"
        );
    }
}

#[test]
fn a_file_is_complete_or_not_there() {
    let folder = Folder::new();
    let path = folder.path("model");
    let mut w = KaldiWriter::create(&path, true).unwrap();
    w.write_token("<A>").unwrap();
    w.flush().unwrap();
    assert!(!std::fs::exists(&path).unwrap(), "it has not got its name yet");
    drop(w);
    assert!(folder.list().is_empty(), "nor a temporary one");

    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let mut w = KaldiWriter::create(&path, false).unwrap();
    w.write_str("new").unwrap();
    assert_eq!(w.position(), 3);
    assert_eq!(folder.read("model"), b"old");
    w.finish().unwrap();
    assert_eq!(folder.read("model"), b"new");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(folder.list(), ["model"]);
    assert!(message(KaldiWriter::create("/nonexistent/x", true).map(drop)).contains("/nonexistent/x"));
}

/// Old temporary files are removed, but not the files of other targets, of other programs, and of programs that may
/// still run.
#[test]
fn abandoned_temporary_files_are_removed() {
    let folder = Folder::new();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    for (name, age) in [
        (".model.17.0.tmp", old),
        (".model.18.1.tmp", std::time::SystemTime::now()),
        (".model2.17.0.tmp", old),
        (".model.x.tmp", old),
    ] {
        let file = std::fs::File::create(folder.path(name)).unwrap();
        file.set_modified(age).unwrap();
    }
    write_object(&folder.path("model"), true, &m()).unwrap();
    assert_eq!(folder.list(), [".model.18.1.tmp", ".model.x.tmp", ".model2.17.0.tmp", "model"]);
}

#[test]
fn links_stay_and_devices_are_written_in_place() {
    let folder = Folder::new();
    let (target, link) = (folder.write("target", "old"), folder.path("link"));
    symlink(&target, &link).unwrap();
    write_object(&link, false, &m()).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(folder.read("target").starts_with(b" ["));
    let w = KaldiWriter::create(&link, true).unwrap();
    drop(w);
    assert!(
        folder.read("target").starts_with(b" ["),
        "an unfinished file takes no place, behind a link either"
    );
    write_object("/dev/null", true, &m()).unwrap();
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let full = message(write_object("/dev/full", true, &m()));
    assert!(full.contains("/dev/full"), "{full}");
}

#[test]
fn large_objects_pass_the_buffers() {
    let folder = Folder::new();
    let path = folder.path("large");
    let large = DenseMatrix { rows: 700, cols: 1001, data: (0..700 * 1001).map(|i| i as f32).collect() };
    write_object(&path, true, &large).unwrap();
    assert_eq!(folder.read("large").len(), 2 + 3 + 10 + 4 * 700 * 1001);
    assert_eq!(read_object::<DenseMatrix<f32>>(&path).unwrap(), large);
    assert_eq!(read_object::<DenseMatrix<f32>>(&format!("cat {path} |")).unwrap(), large);
    let mut r = KaldiReader::open(&path).unwrap();
    DenseMatrix::<f32>::read(&mut r).unwrap();
    assert_eq!(r.position() as usize, folder.read("large").len());
}

/// A command whose output is a single word or a few lines: its beginning is looked at after the end was read.
#[test]
fn the_output_of_a_command_that_is_of_another_kind_is_named() {
    let error = |command: &str| {
        let mut r = KaldiReader::open(command).unwrap();
        r.peek_token().unwrap();
        r.expect_token("<Nnet3>").unwrap_err().to_string()
    };
    for (command, kind) in [
        (r"printf '\010\010\022\007pytorch\377\376\001' |", "; this looks like an ONNX model (nnet3-export"),
        (r"printf '\n  # layers\n  input dim=40 name=input\n' |", "; this looks like an xconfig ("),
        ("echo 'component name=a type=NoOpComponent dim=3' |", "; this looks like the config of a network ("),
        ("printf '<html>' |", "; this looks like an HTML page"),
        ("printf 'utt [ 1 2 ]' |", "; this looks like an archive, whose first entry is 'utt', a vector"),
    ] {
        let said = error(command);
        assert!(said.contains(kind), "{command}: {said}");
    }
    // Behind the beginning, nothing is said of it.
    let mut r = KaldiReader::open("echo '<Nnet3> component name=a' |").unwrap();
    r.expect_token("<Nnet3>").unwrap();
    assert!(!r.expect_token("</Nnet3>").unwrap_err().to_string().contains("looks like"));
}
