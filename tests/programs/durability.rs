//! Programs that are killed or find the disk full leave the file that was there, or the whole new one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn start(folder: &Path, program: &str, arguments: &[&str]) -> Child {
    let path = Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name(program);
    let mut command = Command::new(path);
    command.current_dir(folder).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn finish(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A folder with a network of 4 MB, `old.raw`.
fn with_network(name: &str) -> PathBuf {
    let folder = folder(name);
    let config = "input-node name=input dim=1000\n\
                  component name=a type=AffineComponent input-dim=1000 output-dim=1000\n\
                  component-node name=a component=a input=input\noutput-node name=output input=a\n";
    std::fs::write(folder.join("config"), config).unwrap();
    assert_eq!(finish(start(&folder, "nnet3-init", &["config", "old.raw"])).0, Some(0));
    folder
}

#[test]
fn killed_at_200_moments() {
    let folder = with_network("killed");
    let copy = || start(&folder, "nnet3-copy", &["--scale=2", "old.raw", "target.raw"]);
    let began = Instant::now();
    assert_eq!(finish(copy()).0, Some(0));
    let whole_run = began.elapsed();
    let (old, target) = (folder.join("old.raw"), folder.join("target.raw"));
    let (old_bytes, new_bytes) = (std::fs::read(&old).unwrap(), std::fs::read(&target).unwrap());
    assert!(old_bytes != new_bytes && old_bytes.len() > 4_000_000);

    let (mut kept, mut replaced) = (0, 0);
    for i in 0..200 {
        std::fs::write(&target, &old_bytes).unwrap();
        let mut child = copy();
        // Spread over the run by the golden ratio.
        let moment = 1.2 * (i as f64 * 0.618_034).fract();
        std::thread::sleep(Duration::from_secs_f64(whole_run.as_secs_f64() * moment));
        child.kill().unwrap();
        child.wait().unwrap();
        match std::fs::read(&target).unwrap() {
            bytes if bytes == old_bytes => kept += 1,
            bytes if bytes == new_bytes => replaced += 1,
            bytes => panic!("{} bytes that are neither the old nor the new file", bytes.len()),
        }
    }
    println!("old file kept {kept} times, new one there {replaced} times");
    assert!(kept > 0, "no run was killed before its end");
}

/// A file-size limit stands for a full disk: writing fails half way.
#[test]
fn a_full_disk_is_an_error() {
    let folder = with_network("full");
    std::fs::write(folder.join("target.raw"), "what was there").unwrap();
    let path = Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name("nnet3-copy");
    let script = format!("trap '' XFSZ; ulimit -f 2000; {} old.raw target.raw", path.display());
    let output = Command::new("sh").current_dir(&folder).args(["-c", &script]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(255), "{stderr}");
    assert!(stderr.contains("target.raw") && stderr.contains("File too large"), "{stderr}");
    assert_eq!(std::fs::read(folder.join("target.raw")).unwrap(), b"what was there");
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, 3, "no temporary file stays");
}

/// `| head` is not an error: the program ends silently, by the signal.
#[test]
fn a_reader_that_has_seen_enough() {
    let folder = with_network("head");
    let path = Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name("nnet3-copy");
    let script = format!("{} --print-args=false --binary=false old.raw - | head -c 100", path.display());
    let output = Command::new("sh").current_dir(&folder).args(["-c", &script]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 100));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
