//! Limits of the system below those of the server, and troubles that are the server's own.

use super::client::{Server, u7};
use super::{DATA, limits};
use crate::common;
use crate::online_programs::{folder, model_folder};

/// A file of a recording beyond `ulimit -f` ended the server by a signal.
#[test]
fn the_lower_of_two_limits_holds() {
    let f = folder("serve-ulimit", false);
    let model = model_folder(&f);
    let flac = std::fs::read(format!("{DATA}/sound/u7.flac")).unwrap();
    let server = Server::start_within("ulimit -f 200 -d 1000000 -t 200", &model, &[]);
    assert_eq!(server.post("/transcribe", &flac, "").0, 200);
    let (status, text) = server.post("/transcribe", &limits::wave(u7().0, 150_000), "");
    assert!(status == 413 && text.contains("204800 bytes"), "{status} {text}");
    for words in [
        "a recording may have 204800 bytes",
        "after 200 s of processor time",
        "less than --max-decoder-memory",
    ] {
        server.wait_for(words);
    }
    assert_eq!(server.post("/transcribe", &flac, "").0, 200);
    server.stop();
}

#[test]
fn a_server_that_cannot_serve_does_not_start() {
    let f = folder("serve-cannot", false);
    let model = model_folder(&f);
    for (before, options, words) in [
        ("export TMPDIR=/no/folder", &[][..], "recordings cannot be kept in the folder of temporary files"),
        ("ulimit -f 0", &[], "--max-recording=100: files may not have more than 0 bytes (ulimit -f)"),
        (
            "ulimit -n 500",
            &["--max-sessions=400"],
            "--max-sessions=400: the sessions and those that wait need",
        ),
    ] {
        let line = format!(
            "{before}; exec {} --port=0 {} {model}",
            common::binary("nnet3-serve").display(),
            options.join(" ")
        );
        let run = std::process::Command::new("timeout").args(["60", "bash", "-c", &line]).output().unwrap();
        let log = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.code() == Some(255) && log.contains(words), "{before}: {log}");
        assert!(!log.contains("Listening"), "{log}");
    }
}

/// Such recordings had status 422, and the line of a log as the reason.
#[test]
fn troubles_of_the_server_are_not_the_clients() {
    let f = folder("serve-troubles", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &[]);
    let flac = std::fs::read(format!("{DATA}/sound/u7.flac")).unwrap();
    // Its decoder is ended from outside.
    std::thread::scope(|scope| {
        let long = limits::wave(u7().0, 3_000_000);
        let post = scope.spawn({
            let server = &server;
            move || server.post("/transcribe", &long, "")
        });
        while server.children().is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        for child in server.children() {
            let _sent = std::process::Command::new("kill").args(["-KILL", &child.to_string()]).status();
        }
        let (status, text) = post.join().unwrap();
        assert!(status == 500 && text.contains("ended by the signal 9"), "{status} {text}");
        assert!(!text.contains("ERROR (") && !text.contains("[5.5]"), "{text}");
    });
    // A fault of the recording is the client's.
    let (status, text) = server.post("/transcribe", b"hello, this is no sound", "");
    assert!(status == 422 && !text.contains("ERROR ("), "{status} {text}");
    assert_eq!(server.post("/transcribe", &flac, "").0, 200);
    server.stop();
}
