//! Signals end programs, and their temporary files with them.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, binary};
use crate::data::feature_text;

fn temporary_files(folder: &Folder) -> usize {
    let names = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count()
}

/// Starts a copy onto a file that is there, which waits for more; ends it with a signal.
fn ended_by(folder: &Folder, signal: &str, ignored: bool) -> Option<i32> {
    let old = folder.write("old.ark", "old");
    let program = binary("copy-feats");
    let trap = if ignored { format!("trap '' {signal};") } else { String::new() };
    let command = format!("{trap} exec {} ark:- ark:{old}", program.display());
    let mut child = Command::new("bash")
        .args(["-c", &command])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(feature_text(2).as_bytes()).unwrap();
    let began = Instant::now();
    while temporary_files(folder) == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "no temporary file appears");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    if ignored {
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "an ignored signal ended the program");
        drop(input);
    }
    let status = child.wait().unwrap();
    assert_eq!(temporary_files(folder), 0, "{signal}");
    if !ignored {
        assert_eq!(folder.read("old.ark"), "old");
    }
    status.signal()
}

#[test]
fn temporary_files_go() {
    let folder = Folder::new("hostile-signals");
    assert_eq!(ended_by(&folder, "INT", false), Some(2));
    assert_eq!(ended_by(&folder, "TERM", false), Some(15));
    assert_eq!(ended_by(&folder, "HUP", false), Some(1));
    // As with nohup.
    assert_eq!(ended_by(&folder, "HUP", true), None);
    assert_eq!(ended_by(&folder, "INT", true), None);
}
