//! Recordings of twenty formats that are whole, cut, joined, damaged, late, with two tracks or an odd rate, from files and
//! pipes: each gives all samples at their times, or a warning or an error. ffmpeg makes the recordings.
//!
//! `NNET3_WRITE_DOCS=1 cargo test -p kaldi-sound --test matrix` writes the tables of docs/sound.md.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kaldi_sound::{Channels, SoundStream};

/// Name, suffix, arguments of ffmpeg, and true if the container has pictures, too.
const FORMATS: [(&str, &str, &str, bool); 20] = [
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
const CASES: [&str; 7] = ["whole", "cut", "joined", "gap", "late", "two tracks", "odd rate"];
const RATE: usize = 16_000;
/// The seconds at which tones begin, and the length of all. Each tone lasts half a second.
const TONES: [f64; 2] = [0.5, 2.0];
const LENGTH: f64 = 3.0;
/// Differences of times, in seconds, that codecs make: pre-echo, and packets at the end.
const NEAR: f64 = 0.03;
const GENERATED: &str =
    "<!-- The rest is written by a test: NNET3_WRITE_DOCS=1 cargo test -p kaldi-sound --test matrix -->\n";

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

fn has_ffmpeg() -> bool {
    Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Samples of two tones.
fn tones(volume: f64, rate: usize) -> Vec<i16> {
    let sample = |t: usize| {
        let time = t as f64 / rate as f64;
        let tone = TONES.iter().any(|&begin| (begin..begin + 0.5).contains(&time));
        if tone { (volume * (time * 440.0 * std::f64::consts::TAU).sin()) as i16 } else { 0 }
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

fn read(name: &str) -> Result<Seen, String> {
    let error = |error: kaldi_sound::Error| {
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        causes.map(|cause| cause.to_string()).collect::<Vec<_>>().join(": ")
    };
    let mut sound = SoundStream::open(name).map_err(error)?;
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

/// Makes the file of a case. `None` if the format has no such files.
fn make(folder: &Path, format: (&str, &str, &str, bool), case: &str) -> Option<PathBuf> {
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
fn cell(case: &str, name: &str) -> (&'static str, Option<String>) {
    match read(name) {
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
        Ok(seen) if case == "whole" || case == "late" => ("WRONG", Some(seen.warnings.join("; "))),
        Ok(_) => ("warning", None),
    }
}

/// Length and beginning of the first tone by ffmpeg.
fn by_ffmpeg(file: &Path) -> (f64, f64) {
    let out = file.with_extension("by-ffmpeg");
    let arguments = format!("-i {} -ac 1 -ar {RATE} -f s16le", file.display());
    assert!(ffmpeg(&arguments, &out), "{}", file.display());
    let bytes = std::fs::read(out).unwrap();
    let samples: Vec<f32> =
        bytes.chunks_exact(2).map(|two| i16::from_le_bytes([two[0], two[1]]).into()).collect();
    let rate = RATE as f64;
    (samples.len() as f64 / rate, onsets(&samples, rate).first().copied().unwrap_or(f64::NAN))
}

#[test]
fn no_sound_is_lost_without_a_word() {
    if !has_ffmpeg() {
        return println!("skipped: ffmpeg is not installed");
    }
    let folder = Folder(std::env::temp_dir().join(format!("kaldi-sound-matrix-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join("loud"), wave(RATE as u32, &tones(12_000.0, RATE))).unwrap();
    std::fs::write(folder.0.join("silent"), wave(RATE as u32, &tones(0.0, RATE))).unwrap();
    let mut matrix =
        format!("\n## Faults\n\n| format | input | {} |\n|---|---|{}\n", CASES.join(" | "), "---|".repeat(7));
    let mut times = "\n## Times\n\n| format | first tone | length | gaps | ffmpeg: first tone | length |\n|---|---|---|---|---|---|\n".to_owned();
    let mut wrong = Vec::new();
    for format in FORMATS {
        let mut rows = [format!("| {} | file", format.0), format!("| {} | pipe", format.0)];
        let mut gaps = "-";
        for case in CASES {
            let Some(file) = make(&folder.0, format, case) else {
                rows.iter_mut().for_each(|row| row.push_str(" | -"));
                continue;
            };
            let inputs = [file.display().to_string(), format!("cat {} |", file.display())];
            for (row, input) in rows.iter_mut().zip(&inputs) {
                let (text, fault) = cell(case, input);
                write!(row, " | {text}").unwrap();
                wrong.extend(fault.map(|fault| format!("{}, {case}, {input}: {fault}", format.0)));
                if case == "gap" {
                    gaps = text;
                }
            }
        }
        rows.iter().for_each(|row| writeln!(matrix, "{row} |").unwrap());
        let whole = folder.0.join(format!("whole.{}", format.1));
        if let Ok(seen) = read(&whole.display().to_string()) {
            let (length, first) = by_ffmpeg(&whole);
            let ours = seen.tones.first().copied().unwrap_or(f64::NAN);
            writeln!(
                times,
                "| {} | {ours:.3} s | {:.3} s | {gaps} | {first:.3} s | {length:.3} s |",
                format.0, seen.length
            )
            .unwrap();
            // (ffmpeg leaves out a late beginning that the time stamps of Windows Media tell of.)
            if (ours - first).abs() > 0.07 {
                wrong.push(format!("{}: the first tone at {ours} s, by ffmpeg at {first} s", format.0));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{matrix}{times}", wrong.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sound.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (written, generated) =
        document.split_once(GENERATED).expect("docs/sound.md lacks the line of its generated part");
    if std::env::var_os("NNET3_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{written}{GENERATED}{matrix}{times}")).unwrap();
    } else {
        // (Another version of ffmpeg makes other files, so cells may differ.)
        for (name, ..) in FORMATS {
            assert_eq!(
                generated.matches(&format!("| {name} |")).count(),
                3,
                "{name}: docs/sound.md is out of date"
            );
        }
    }
}
