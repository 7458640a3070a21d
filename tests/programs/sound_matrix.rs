//! Recordings of twenty formats that are whole, cut, joined, damaged, late, with two tracks or an odd rate, from files and
//! pipes, by the server's decoder and as the Python module opens them: each gives all samples at their times, or a warning
//! or an error. ffmpeg makes the recordings.
//!
//! `NNET3_WRITE_DOCS=1 cargo test --test programs sound_matrix` writes the tables of docs/sound.md.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use kaldi_io::filename::as_path;
use kaldi_sound::{Channels, SoundStream, WARNING};

use crate::common::{Folder, binary};

type Format = (&'static str, &'static str, &'static str, bool);

/// Name, suffix, arguments of ffmpeg, and true if the container has pictures, too.
const FORMATS: [Format; 20] = [
    ("WAV", "wav", "", false),
    ("WAV, IMA ADPCM", "ima.wav", "-c:a adpcm_ima_wav", false),
    ("W64", "w64", "", false),
    ("AIFF", "aiff", "", false),
    ("AU", "au", "", false),
    ("CAF", "caf", "", false),
    ("FLAC", "flac", "", false),
    ("MP3", "mp3", "-c:a libmp3lame", false),
    ("MP2", "mp2", "-c:a mp2", false),
    ("AAC (ADTS)", "aac", "-c:a aac", false),
    ("AC-3", "ac3", "-ar 32000 -c:a ac3", false),
    ("Ogg Vorbis", "ogg", "-c:a libvorbis", false),
    ("Ogg Opus", "opus", "-c:a libopus", false),
    ("Ogg FLAC", "oga", "-c:a flac", false),
    ("M4A, AAC", "m4a", "-c:a aac", false),
    ("MP4, AAC", "mp4", "-c:a aac -movflags +faststart", true),
    ("QuickTime, ALAC", "mov", "-c:a alac", true),
    ("Matroska, AAC", "mkv", "-c:a aac", true),
    ("WebM, Opus", "webm", "-c:a libopus", true),
    ("Windows Media", "wma", "-c:a wmav2", false),
];
const INPUTS: [&str; 4] = ["file", "pipe", "server", "Python"];
const CASES: [&str; 7] = ["whole", "cut", "joined", "gap", "late", "two tracks", "odd rate"];
const RATE: usize = 16_000;
/// The seconds at which tones begin, and the length of all. Each tone lasts half a second.
const TONES: [f64; 2] = [0.5, 2.0];
const LENGTH: f64 = 3.0;
/// Differences of times, in seconds, that codecs make: pre-echo, and packets at the end.
const NEAR: f64 = 0.03;
const GENERATED: &str =
    "<!-- The rest is written by a test: NNET3_WRITE_DOCS=1 cargo test --test programs sound_matrix -->\n";

fn has_ffmpeg() -> bool {
    Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Samples of two tones, with some noise everywhere, so that codecs have as many bytes for silence as for tones.
fn tones(volume: f64, rate: usize) -> Vec<i16> {
    let mut state = 1_u32;
    let sample = |t: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noise = f64::from(state >> 16) / 65_536.0 * 800.0 - 400.0;
        let time = t as f64 / rate as f64;
        let tone = TONES.iter().any(|&begin| (begin..begin + 0.5).contains(&time));
        let tone = if tone { volume * (time * 440.0 * std::f64::consts::TAU).sin() } else { 0.0 };
        (tone + noise) as i16
    };
    (0..(LENGTH * rate as f64) as usize).map(sample).collect()
}

fn wave(rate: u32, samples: &[i16]) -> Vec<u8> {
    let size = 2 * samples.len() as u32;
    let mut out = [&b"RIFF"[..], &(size + 36).to_le_bytes(), b"WAVEfmt ", &16u32.to_le_bytes()].concat();
    out.extend([1, 0, 1, 0]);
    out.extend([rate.to_le_bytes(), (2 * rate).to_le_bytes()].concat());
    out.extend([2, 0, 16, 0]);
    out.extend([&b"data"[..], &size.to_le_bytes()].concat());
    out.extend(samples.iter().flat_map(|x| x.to_le_bytes()));
    out
}

/// Runs ffmpeg; false if it cannot make such a file.
fn ffmpeg(arguments: &str, out: &Path) -> bool {
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-v", "quiet", "-y"]).args(arguments.split_whitespace()).arg(out);
    command.status().is_ok_and(|status| status.success())
        && std::fs::metadata(out).is_ok_and(|data| data.len() > 0)
}

/// Length and beginnings of tones in seconds, and the warnings.
struct Seen {
    length: f64,
    tones: Vec<f64>,
    warnings: Vec<String>,
}

fn onsets(samples: &[f32], rate: f64) -> Vec<f64> {
    let (mut all, mut quiet) = (Vec::new(), usize::MAX);
    for (t, &sample) in samples.iter().enumerate() {
        if sample.abs() > 3000.0 {
            if quiet > rate as usize / 5 {
                all.push(t as f64 / rate);
            }
            quiet = 0;
        } else {
            quiet = quiet.saturating_add(1);
        }
    }
    all
}

/// A recording by one of the inputs.
fn read(file: &Path, input: &str) -> Result<Seen, String> {
    let name = file.display().to_string();
    match input {
        "pipe" => read_stream(SoundStream::open(&format!("cat {name} |"))),
        // The module's `transcribe` opens the name of a file like this.
        "Python" => read_stream(as_path(|| SoundStream::open(&name))),
        "server" => decoded_by_server(file),
        _ => read_stream(SoundStream::open(&name)),
    }
}

fn read_stream(sound: kaldi_sound::Result<SoundStream>) -> Result<Seen, String> {
    let error = |error: kaldi_sound::Error| kaldi_io::error::chain(&error);
    let mut sound = sound.map_err(error)?;
    let signals = sound.signals(Channels::First).map_err(error)?;
    let mut samples = Vec::new();
    loop {
        let next = sound.read(4000, &signals).map_err(error)?.remove(0);
        if next.is_empty() {
            break;
        }
        samples.extend(next);
    }
    let rate = f64::from(sound.sample_rate());
    let warnings = sound.warnings().iter().map(|warning| warning.to_string()).collect();
    Ok(Seen { length: samples.len() as f64 / rate, tones: onsets(&samples, rate), warnings })
}

/// The wave that the server's process makes of an upload, and its warnings. They come with the text of the client.
fn decoded_by_server(file: &Path) -> Result<Seen, String> {
    let mut command = Command::new(binary("nnet3-serve"));
    command.args(["--decode", "--print-args=false"]).stdin(std::fs::File::open(file).unwrap());
    let found = command.output().unwrap();
    let lines = String::from_utf8(found.stderr).unwrap();
    if !found.status.success() {
        // (3: the recording is at fault.)
        assert_eq!(found.status.code(), Some(3), "{}: {lines}", file.display());
        return Err(lines);
    }
    let warnings = lines.lines().map(|line| line.strip_prefix(WARNING).expect(line).to_owned()).collect();
    let rate = f64::from(u32::from_le_bytes(found.stdout[24..28].try_into().unwrap()));
    let samples = samples_of(&found.stdout[44..]);
    Ok(Seen { length: samples.len() as f64 / rate, tones: onsets(&samples, rate), warnings })
}

fn samples_of(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(2).map(|two| i16::from_le_bytes([two[0], two[1]]).into()).collect()
}

/// Makes the file of a case. `None` if the format has no such files.
fn make(folder: &Path, format: Format, case: &str) -> Option<PathBuf> {
    let (_, suffix, arguments, pictures) = format;
    let out = folder.join(format!("{}.{suffix}", case.replace(' ', "-")));
    let (loud, silent) = (folder.join("loud"), folder.join("silent"));
    let (loud, silent) = (loud.display(), silent.display());
    let whole = folder.join(format!("whole.{suffix}"));
    match case {
        "whole" => assert!(ffmpeg(&format!("-i {loud} {arguments}"), &out), "{suffix}"),
        "late" if pictures => {
            let video = if suffix == "webm" { "-c:v libvpx" } else { "-c:v mpeg4" };
            let input = format!("-f lavfi -i color=size=64x64:rate=10:duration=5 -itsoffset 1 -i {loud}");
            return ffmpeg(&format!("{input} {video} {arguments}"), &out).then_some(out);
        }
        "two tracks" if pictures => {
            let maps = "-map 0:a -map 1:a -disposition:a:0 0 -disposition:a:1 default";
            return ffmpeg(&format!("-i {silent} -i {loud} {maps} {arguments}"), &out).then_some(out);
        }
        "late" | "two tracks" => return None,
        "odd rate" if suffix == "wav" => std::fs::write(&out, wave(16_777_213, &[1; 1000])).unwrap(),
        "odd rate" => return ffmpeg(&format!("-i {loud} {arguments} -ar 500"), &out).then_some(out),
        _ => {
            let bytes = std::fs::read(whole).unwrap();
            // A third of a second in the middle, between the tones.
            let (from, to) = (bytes.len() * 6 / 13, bytes.len() * 6 / 13 + bytes.len() / 9 + 37);
            let bytes = match case {
                "cut" => bytes[..bytes.len() * 3 / 5].to_vec(),
                "joined" => [&bytes[..], &bytes[..]].concat(),
                _ => [&bytes[..from], &bytes[to..]].concat(),
            };
            std::fs::write(&out, bytes).unwrap();
        }
    }
    Some(out)
}

/// True if all sound is there at its times.
fn is_right(case: &str, seen: &Seen) -> bool {
    let (mut tones, mut length) = (TONES.to_vec(), LENGTH);
    match case {
        "joined" => {
            tones.extend(TONES.map(|time| time + LENGTH));
            length *= 2.0;
        }
        "late" => {
            tones.iter_mut().for_each(|time| *time += 1.0);
            length += 1.0;
        }
        _ => {}
    }
    // (An encoder's delay that the file does not give, and padding, are at most two packets of AAC a file.)
    let delay = 0.15 * if case == "joined" { 2.0 } else { 1.0 };
    let near = |(a, b): (&f64, &f64)| *a > b - NEAR && *a < b + delay;
    seen.tones.len() == tones.len()
        && seen.tones.iter().zip(&tones).all(near)
        && seen.length > length - NEAR
        && seen.length < length + 2.0 * delay
}

/// A cell of the table, and the fault if sound is lost without a word.
fn cell(case: &str, seen: Result<Seen, String>) -> (&'static str, Option<String>) {
    match seen {
        Err(error) if case == "whole" || case == "late" || case == "two tracks" => ("WRONG", Some(error)),
        Err(error) if case == "odd rate" && !error.contains("from 1000 to 192000 Hz") => {
            ("WRONG", Some(error))
        }
        Err(_) => ("error", None),
        Ok(_) if case == "odd rate" => ("WRONG", Some("the rate is taken".to_owned())),
        Ok(seen) if seen.warnings.is_empty() || case == "two tracks" => match is_right(case, &seen) {
            true => ("right", None),
            false => ("WRONG", Some(format!("{:.3} s, tones at {:.3?}", seen.length, seen.tones))),
        },
        // (A joined wave is told, since other programs read its first file only.)
        Ok(seen) if case == "joined" && is_right(case, &seen) => ("right", None),
        Ok(seen) if case == "whole" || case == "late" => ("WRONG", Some(seen.warnings.join("; "))),
        Ok(_) => ("warning", None),
    }
}

/// Length and beginning of the first tone by ffmpeg.
fn by_ffmpeg(file: &Path) -> (f64, f64) {
    // (Formats are tried at once, so that each has a file of its own.)
    let out = PathBuf::from(format!("{}.by-ffmpeg", file.display()));
    let arguments = format!("-i {} -ac 1 -ar {RATE} -f s16le", file.display());
    assert!(ffmpeg(&arguments, &out), "{}", file.display());
    let bytes = std::fs::read(out).unwrap();
    let (samples, rate) = (samples_of(&bytes), RATE as f64);
    (samples.len() as f64 / rate, onsets(&samples, rate).first().copied().unwrap_or(f64::NAN))
}

/// The part of the tables about a format, and its faults.
#[derive(Default)]
struct Part {
    faults: String,
    times: String,
    wrong: Vec<String>,
}

fn part(folder: &Path, format: Format) -> Part {
    let (name, mut part) = (format.0, Part::default());
    let mut rows = vec![String::new(); INPUTS.len()];
    let (mut gaps, mut whole) = ("-", None);
    for case in CASES {
        let Some(file) = make(folder, format, case) else {
            rows.iter_mut().for_each(|row| row.push_str(" | -"));
            continue;
        };
        for (row, input) in rows.iter_mut().zip(INPUTS) {
            let seen = read(&file, input);
            if let (Ok(seen), "whole") = (&seen, case) {
                whole = Some((seen.length, seen.tones.first().copied().unwrap_or(f64::NAN)));
            }
            let (text, fault) = cell(case, seen);
            write!(row, " | {text}").unwrap();
            part.wrong.extend(fault.map(|fault| format!("{name}, {case}, {input}: {fault}")));
            if case == "gap" {
                gaps = text;
            }
        }
    }
    // Inputs with the same cells share a row.
    let mut inputs: Vec<(&str, Vec<&str>)> = Vec::new();
    for (row, input) in rows.iter().zip(INPUTS) {
        match inputs.iter_mut().find(|(cells, _)| cells == row) {
            Some((_, same)) => same.push(input),
            None => inputs.push((row, vec![input])),
        }
    }
    for (cells, same) in &inputs {
        writeln!(part.faults, "| {name} | {}{cells} |", same.join(", ")).unwrap();
    }
    if let Some((length, ours)) = whole {
        let (length_there, there) = by_ffmpeg(&folder.join(format!("whole.{}", format.1)));
        writeln!(
            part.times,
            "| {name} | {ours:.3} s | {length:.3} s | {gaps} | {there:.3} s | {length_there:.3} s |"
        )
        .unwrap();
        // (ffmpeg leaves out a late beginning that the time stamps of Windows Media tell of.)
        if (ours - there).abs() > 0.07 {
            part.wrong.push(format!("{name}: the first tone at {ours} s, by ffmpeg at {there} s"));
        }
    }
    part
}

#[test]
fn no_sound_is_lost_without_a_word() {
    if !has_ffmpeg() {
        return println!("skipped: ffmpeg is not installed");
    }
    let folder = Folder::new("sound-matrix");
    folder.write("loud", wave(RATE as u32, &tones(12_000.0, RATE)));
    folder.write("silent", wave(RATE as u32, &tones(0.0, RATE)));
    let path = PathBuf::from(folder.path("."));
    let parts: Mutex<Vec<Option<Part>>> = Mutex::new(FORMATS.iter().map(|_| None).collect());
    let next = Mutex::new(0..FORMATS.len());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8) {
            scope.spawn(|| {
                loop {
                    let Some(number) = next.lock().unwrap().next() else { return };
                    let made = part(&path, FORMATS[number]);
                    parts.lock().unwrap()[number] = Some(made);
                }
            });
        }
    });
    let parts: Vec<Part> = parts.into_inner().unwrap().into_iter().flatten().collect();
    let all = |text: fn(&Part) -> &str| parts.iter().map(text).collect::<String>();
    let tables = format!(
        "\n## Faults\n\n| format | input | {} |\n|---|---|{}\n{}\n## Times\n\n\
         | format | first tone | length | gaps | ffmpeg: first tone | length |\n|---|---|---|---|---|---|\n{}",
        CASES.join(" | "),
        "---|".repeat(CASES.len()),
        all(|part| &part.faults),
        all(|part| &part.times)
    );
    let wrong: Vec<&str> = parts.iter().flat_map(|part| &part.wrong).map(String::as_str).collect();
    assert!(wrong.is_empty() && parts.len() == FORMATS.len(), "{}\n{tables}", wrong.join("\n"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/sound.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (written, generated) =
        document.split_once(GENERATED).expect("docs/sound.md lacks the line of its generated part");
    if std::env::var_os("NNET3_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{written}{GENERATED}{tables}")).unwrap();
    } else {
        // (Another version of ffmpeg makes other files, so cells may differ.)
        for (name, ..) in FORMATS {
            let rows = generated.matches(&format!("| {name} |")).count();
            assert!((2..=1 + INPUTS.len()).contains(&rows), "{name}: docs/sound.md is out of date");
        }
    }
}
