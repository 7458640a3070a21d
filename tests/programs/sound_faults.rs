//! Recordings that cannot be read to their end, as users of programs see them: FIFOs that ffmpeg gives up, full disks, clients
//! of the server, tracks.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{self, Folder, binary};
use crate::online_programs::{folder, model_folder};
use crate::serve::client::Server;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
const CHIRPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/kaldi-sound/tests/data");

fn has_ffmpeg() -> bool {
    let there = Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status().is_ok();
    if !there {
        println!("skipped: ffmpeg is not installed");
    }
    there
}

/// A recording that looks like AC-3 and is none, of megabytes: ffmpeg ends before it has read all.
fn no_ac3() -> Vec<u8> {
    let mut bytes = vec![0x0b, 0x77];
    bytes.extend((0..8_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 & 0x3f));
    bytes
}

#[test]
fn a_fifo_that_ffmpeg_gives_up_ends_neither_program_nor_later_recordings() {
    if !has_ffmpeg() {
        return;
    }
    let f = folder("sound-fifo", false);
    let model = model_folder(&f);
    let fifo = f.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let to = fifo.clone();
    let writer = std::thread::spawn(move || {
        // (An error if nobody reads on.)
        let _gone = std::fs::OpenOptions::new().write(true).open(to).unwrap().write_all(&no_ac3());
    });
    let found = common::run("nnet3-transcribe", &[&model, &fifo, &format!("{DATA}/sound/u7.wav")]);
    writer.join().unwrap();
    assert!(found.status > 0 && found.status < 128, "{}: {}", found.status, found.stderr);
    assert!(found.stderr.contains("fifo"), "{}", found.stderr);
    assert!(found.stdout.starts_with("u7 w"), "{} {}", found.stdout, found.stderr);
    // The process that decodes for the server says why, by its status, and no signal ends it.
    let mut command = Command::new(binary("nnet3-serve"));
    command.args(["--decode", "--print-args=false"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&no_ac3()));
    let ended = child.wait_with_output().unwrap();
    let _gone = writer.join().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("ffmpeg") && !said.contains("signal"), "{said}");
}

/// An M4A file with 60 kB behind its index, which is kept in a temporary file while it comes through a pipe.
fn padded_m4a(f: &Folder) -> String {
    let mut bytes = std::fs::read(format!("{CHIRPS}/chirp.m4a")).unwrap();
    bytes.extend(60_000_u32.to_be_bytes());
    bytes.extend(b"free");
    bytes.resize(bytes.len() + 59_992, 0);
    f.write("padded.m4a", bytes)
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let f = Folder::new("sound-full");
    let recording = padded_m4a(&f);
    let shell = |line: &str| {
        let mut command = Command::new("bash");
        command.args(["-c", line]).env("SERVE", binary("nnet3-serve")).env("RECORDING", &recording);
        command.env("TO_WAV", binary("sound-to-wav"));
        let ended = command.output().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    let decode = "\"$SERVE\" --decode --print-args=false";
    let whole = shell(&format!("cat \"$RECORDING\" | {decode} >/dev/null"));
    assert_eq!(whole, (Some(0), String::new()));
    // The output.
    let (status, said) = shell(&format!("{decode} <\"$RECORDING\" >/dev/full"));
    assert!(status == Some(255) && said.contains("standard output: No space left on device"), "{said}");
    let (_, said) = shell("\"$TO_WAV\" --print-args=false \"$RECORDING\" - >/dev/full");
    assert!(said.contains("standard output: No space left on device"), "{said}");
    assert!(!said.contains("standard output: standard output"), "{said}");
    // The temporary file: a limit on its size, and a folder that is not there.
    let (status, said) = shell(&format!(
        "ulimit -f 8; cat \"$RECORDING\" | {decode} | cat >/dev/null; exit ${{PIPESTATUS[1]}}"
    ));
    assert!(
        status == Some(255) && said.contains("that file cannot be written: File too large"),
        "{status:?} {said}"
    );
    let (status, said) = shell(&format!("cat \"$RECORDING\" | TMPDIR=/nowhere {decode} >/dev/null"));
    assert!(
        status == Some(255) && said.contains("that file cannot be written: No such file"),
        "{status:?} {said}"
    );
    // A disk that is full, where a small one can be mounted.
    let mount = "set -e; mkdir -p \"$0.disk\"; mount -t tmpfs -o size=16k none \"$0.disk\"";
    let full = shell(&format!(
        "unshare -m bash -c '{mount}' \"$RECORDING\" 2>/dev/null || exit 77
         unshare -m bash -c '{mount}; cat \"$0\" | TMPDIR=\"$0.disk\" \"$SERVE\" --decode --print-args=false >/dev/null' \"$RECORDING\""
    ));
    match full {
        (Some(77), _) => println!("skipped: no file system can be mounted"),
        (status, said) => {
            assert!(
                status == Some(255) && said.contains("cannot be written: No space left"),
                "{status:?} {said}"
            );
        }
    }
}

/// Clients of the server get the warnings, too, and errors with the reason.
#[test]
fn clients_of_the_server_hear_of_missing_sound() {
    let f = folder("sound-serve", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &[]);
    let flac = std::fs::read(format!("{DATA}/sound/u7.flac")).unwrap();
    let (status, body) = server.post("/transcribe", &flac, "");
    assert!(status == 200 && !body.contains("warnings"), "{body}");
    let (status, body) = server.post("/transcribe", &flac[..flac.len() / 2], "");
    assert!(status == 200 && body.contains("\"warnings\"") && body.contains("ends early"), "{body}");
    let m4a = std::fs::read(format!("{CHIRPS}/chirp.m4a")).unwrap();
    let mut no_index = m4a.clone();
    let at = no_index.windows(4).position(|name| name == b"moov").unwrap() - 4;
    no_index.truncate(at - 100);
    let (status, body) = server.post("/transcribe", &no_index, "");
    assert!(status == 422 && body.contains("its index"), "{status} {body}");
    server.stop();
}

#[test]
fn a_track_can_be_chosen() {
    if !has_ffmpeg() {
        return;
    }
    let f = folder("sound-track", false);
    let model = model_folder(&f);
    let (one, two) = (format!("{DATA}/sound/u7.wav"), f.path("two.mka"));
    let mut command = Command::new("ffmpeg");
    command.args([
        "-nostdin",
        "-v",
        "error",
        "-f",
        "lavfi",
        "-i",
        "anullsrc=r=16000:d=2:cl=mono",
        "-i",
        &one,
    ]);
    command.args(["-map", "0", "-map", "1", "-c:a", "flac", &two]);
    assert!(command.status().unwrap().success());
    let text = |options: &[&str], recording: &str| {
        let arguments = [options, &[model.as_str(), recording]].concat();
        let found = common::run("nnet3-transcribe", &arguments);
        assert_eq!(found.status, 0, "{}", found.stderr);
        (found.stdout.split_once(' ').map_or(String::new(), |(_, words)| words.to_owned()), found.stderr)
    };
    let (expected, _) = text(&[], &one);
    let (found, said) = text(&["--track=2"], &two);
    assert!(found == expected && !said.contains("tracks"), "{found} {said}");
    let (_, said) = text(&[], &two);
    assert!(said.contains("track 1 of 2 tracks of sound is taken; see --track"), "{said}");
    let found = common::run("nnet3-transcribe", &["--track=3", &model, &two]);
    assert!(found.status > 0 && found.stderr.contains("has no track 3 of sound"), "{}", found.stderr);
}

/// Rates are those that recordings may have.
#[test]
fn a_rate_out_of_range_names_the_range() {
    for rate in ["200", "200000"] {
        let option = format!("--sample-frequency={rate}");
        let found = common::run("sound-to-wav", &[&option, &format!("{CHIRPS}/chirp.wav"), "-"]);
        let expected = format!("{option}: expected 0, or a rate from 1000 to 192000");
        assert!(found.status > 0 && found.stderr.contains(&expected), "{}", found.stderr);
    }
}
