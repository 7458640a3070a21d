//! Recordings with faults and choices: each fault is a warning or an error, and the rest of the sound is right. ffmpeg makes
//! some of the recordings.

mod changes;
mod streams;

use std::path::{Path, PathBuf};
use std::process::Command;

use kaldi_sound::{Channels, Error, SoundOptions, SoundStream, Warning};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("kaldi-sound-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.0.join(name), bytes).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// Sampling rate, samples and warnings of one signal.
type Seen = (u32, Vec<f32>, Vec<Warning>);

fn read_with(name: &str, which: Channels, track: Option<usize>) -> Result<Seen, Error> {
    let mut sound = SoundStream::open_with(name, &SoundOptions { track, ..SoundOptions::default() })?;
    let signals = sound.signals(which)?;
    let mut all = Vec::new();
    loop {
        let next = sound.read(1000, &signals)?.remove(0);
        if next.is_empty() {
            return Ok((sound.sample_rate(), all, sound.warnings()));
        }
        all.extend(next);
    }
}

fn read(name: &str) -> Result<Seen, Error> {
    read_with(name, Channels::First, None)
}

/// Runs ffmpeg. False if it is not there.
fn ffmpeg(arguments: &str) -> bool {
    let mut command = Command::new("ffmpeg");
    match command.args(["-nostdin", "-v", "error", "-y"]).args(arguments.split_whitespace()).status() {
        Ok(status) => {
            assert!(status.success(), "ffmpeg {arguments}");
            true
        }
        Err(_) => {
            println!("skipped: ffmpeg is not installed");
            false
        }
    }
}

/// A wave with 16 bits.
fn wave(rate: u32, channels: u16, samples: &[i16]) -> Vec<u8> {
    let (block, size) = (2 * channels, 2 * samples.len() as u32);
    let mut out = [&b"RIFF"[..], &(size + 36).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0"].concat();
    out.extend(channels.to_le_bytes());
    out.extend([rate.to_le_bytes(), (rate * u32::from(block)).to_le_bytes()].concat());
    out.extend([block.to_le_bytes(), 16u16.to_le_bytes()].concat());
    out.extend([&b"data"[..], &size.to_le_bytes()].concat());
    out.extend(samples.iter().flat_map(|x| x.to_le_bytes()));
    out
}

fn tone(rate: u32, frequency: f32, seconds: f32) -> Vec<i16> {
    let sample = |t: usize| 8000.0 * (t as f32 * frequency * std::f32::consts::TAU / rate as f32).sin();
    (0..(seconds * rate as f32) as usize).map(|t| sample(t) as i16).collect()
}

/// The frequency of a tone in Hz, by its changes of sign.
fn frequency(samples: &[f32], rate: u32) -> f32 {
    let changes = samples.windows(2).filter(|pair| (pair[0] < 0.0) != (pair[1] < 0.0)).count();
    changes as f32 / 2.0 / (samples.len() as f32 / rate as f32)
}

#[test]
fn samples_that_are_no_numbers_are_counted_by_each_decoder() {
    let folder = Folder::new("nan");
    let mut values = vec![0.25_f32; 16_000];
    values[4000] = f32::NAN;
    values[5000..5003].fill(f32::INFINITY);
    values[6000] = f32::NEG_INFINITY;
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let raw = folder.write("raw", bytes);
    for (file, coding) in [
        ("a.wav", "pcm_f32le"),
        ("b.wav", "pcm_f64le"),
        ("a.aiff", "pcm_f32be"),
        ("a.caf", "pcm_f32le"),
        ("a.mka", "pcm_f32le"),
        ("a.mov", "pcm_f32le"),
        ("a.au", "pcm_f32be"),
        ("a.w64", "pcm_f32le"),
    ] {
        let name = folder.path(file);
        if !ffmpeg(&format!("-f f32le -ar 16000 -ac 1 -i {raw} -c:a {coding} {name}")) {
            return;
        }
        for input in [name.clone(), format!("cat {name} |")] {
            let (_, samples, warnings) = read(&input).unwrap();
            assert_eq!(warnings, [Warning::NotFinite { count: 5 }], "{input}");
            assert_eq!((samples.len(), samples[0]), (16_000, 8192.0), "{input}");
            assert_eq!((samples[4000], samples[5001], samples[6000]), (0.0, 32767.0, -32768.0), "{input}");
        }
    }
}

#[test]
fn the_wanted_track_is_taken() {
    let folder = Folder::new("tracks");
    let one = folder.write("1.wav", wave(16_000, 1, &tone(16_000, 500.0, 1.0)));
    let two = folder.write("2.wav", wave(16_000, 1, &tone(16_000, 1000.0, 1.0)));
    for (file, coding) in [("a.mka", "aac"), ("a.mp4", "aac"), ("a.mov", "alac"), ("a.webm", "libopus")] {
        let name = folder.path(file);
        if !ffmpeg(&format!("-i {one} -i {two} -map 0 -map 1 -c:a {coding} {name}")) {
            return;
        }
        for input in [name.clone(), format!("cat {name} |")] {
            for (track, expected) in [(None, 500.0), (Some(1), 500.0), (Some(2), 1000.0)] {
                let (rate, samples, warnings) = read_with(&input, Channels::First, track).unwrap();
                let found = frequency(&samples[samples.len() / 4..samples.len() / 2], rate);
                assert!((found / expected - 1.0).abs() < 0.02, "{input}, {track:?}: {found} Hz");
                let said: Vec<Warning> = match track {
                    None => vec![Warning::OneOfTracks { taken: 1, count: 2 }],
                    Some(_) => Vec::new(),
                };
                assert_eq!(warnings, said, "{input}, {track:?}");
            }
            for wanted in [0, 3] {
                let error = read_with(&input, Channels::First, Some(wanted)).unwrap_err();
                assert!(matches!(error, Error::NoTrack { there: 2, .. }), "{input}, {wanted}: {error}");
            }
        }
    }
    let error = read_with(&one, Channels::First, Some(2)).unwrap_err().to_string();
    assert!(error.ends_with("no track 2 of sound: expected a number from 1 to 1"), "{error}");
}

#[test]
fn channels_that_cancel_each_other_out_are_a_warning() {
    let folder = Folder::new("cancelled");
    let opposite: Vec<i16> = tone(8000, 400.0, 0.5).iter().flat_map(|&x| [x, -x]).collect();
    let name = folder.write("a.wav", wave(8000, 2, &opposite));
    assert_eq!(
        read_with(&name, Channels::Mix, None).unwrap().2,
        [Warning::Cancelled { at: 0.0, seconds: 0.5 }]
    );
    assert_eq!(read_with(&name, Channels::First, None).unwrap().2, []);
    let near: Vec<i16> = tone(8000, 400.0, 0.5).iter().flat_map(|&x| [x, -x / 2]).collect();
    let name = folder.write("b.wav", wave(8000, 2, &near));
    assert_eq!(read_with(&name, Channels::Mix, None).unwrap().2, []);
    // In a part of the recording, which is read in pieces of any size.
    let parts = [tone(8000, 400.0, 2.0), tone(8000, 600.0, 1.5), tone(8000, 400.0, 1.5)];
    let sign = |part: usize| if part == 1 { -1 } else { 1 };
    let mixed =
        parts.iter().enumerate().flat_map(|(n, part)| part.iter().flat_map(move |&x| [x, sign(n) * x]));
    let name = folder.write("d.wav", wave(8000, 2, &mixed.collect::<Vec<_>>()));
    let warnings = read_with(&name, Channels::Mix, None).unwrap().2;
    assert_eq!(warnings, [Warning::Cancelled { at: 2.0, seconds: 1.0 }]);
    assert_eq!(
        warnings[0].to_string(),
        "the channels cancel each other out, and their mean is silent, for 1.00 s, the first at 2.00 s"
    );
    let silent = folder.write("c.wav", wave(8000, 2, &[0; 800]));
    assert_eq!(read_with(&silent, Channels::Mix, None).unwrap().2, []);
}

/// Names with a meaning (a place within a file, a command) are files if these exist.
#[test]
fn files_with_names_of_commands_and_offsets_are_files() {
    let folder = Folder::new("names");
    let expected = read(&folder.write("plain", data("chirp.flac"))).unwrap();
    for name in ["a:12", "b:12[0:5]", "exit 3 |", "c|", " d ", "ark:e"] {
        let name = folder.write(name, data("chirp.flac"));
        assert!(read(&name).unwrap() == expected, "{name}");
    }
    let error = read(&folder.path("none:12")).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
}

#[test]
fn checksums_of_flac_are_compared() {
    let folder = Folder::new("checksums");
    let whole = data("chirp.flac");
    let expected = read(&folder.write("whole.flac", &whole)).unwrap();
    assert_eq!(expected.2, []);
    // The checksum of all samples is the end of STREAMINFO.
    let mut other = whole.clone();
    other[8 + 18] ^= 1;
    let name = folder.write("sum.flac", &other);
    for input in [name.clone(), format!("cat {name} |")] {
        let seen = read(&input).unwrap();
        assert_eq!((&seen.1, seen.2), (&expected.1, vec![Warning::Checksum]), "{input}");
    }
    // Without one (all zeros) there is no complaint.
    other[8 + 18..8 + 34].fill(0);
    assert_eq!(read(&folder.write("none.flac", &other)).unwrap(), expected);
    // A changed byte within a frame breaks the checksum of that frame: never right samples without a word.
    for at in (whole.len() / 3..whole.len() - 20).step_by(whole.len() / 23) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        let (_, samples, warnings) = read(&folder.write("damaged.flac", &damaged)).unwrap();
        assert!(!warnings.is_empty() || samples == expected.1, "byte {at}");
        let shorter = warnings.iter().any(|warning| matches!(warning, Warning::Cut { .. }));
        assert!(samples.len() == expected.1.len() || shorter, "byte {at}: {warnings:?}");
    }
}

/// All joined files are read, also those of formats whose sizes tell where one ends.
#[test]
fn joined_files_are_read_to_the_end() {
    let folder = Folder::new("joined");
    let from = folder.write("1.wav", wave(16_000, 1, &tone(16_000, 500.0, 1.0)));
    for (file, coding) in [
        ("a.wav", "pcm_s16le"),
        ("b.wav", "adpcm_ima_wav"),
        ("a.w64", "pcm_s16le"),
        ("a.au", "pcm_s16be"),
        ("a.caf", "pcm_s16be"),
        ("a.avi", "pcm_s16le"),
        ("a.wma", "wmav2"),
        ("a.opus", "libopus"),
        ("a.flv", "libmp3lame -ar 44100"),
        ("a.voc", "pcm_s16le"),
        ("a.wv", "wavpack"),
        ("a.tta", "tta"),
        ("a.sf", "pcm_s16le"),
        ("a.dts", "dca -strict -2 -ar 48000"),
        ("a.mlp", "mlp -strict -2 -ar 48000"),
        ("a.thd", "truehd -strict -2 -ar 48000"),
    ] {
        let one = folder.path(file);
        if !ffmpeg(&format!("-i {from} -c:a {coding} {one}")) {
            return;
        }
        let (_, once, warnings) = read(&one).unwrap();
        assert_eq!(warnings, [], "{one}");
        let bytes = std::fs::read(&one).unwrap();
        let three = folder.write(&format!("three.{file}"), [&bytes[..], &bytes, &bytes].concat());
        for input in [three.clone(), format!("cat {three} |")] {
            let (rate, samples, warnings) = read(&input).unwrap();
            let (found, expected) = (samples.len(), 3 * once.len());
            assert!(found.abs_diff(expected) <= rate as usize / 10, "{input}: {found} of {expected}");
            // (Other programs read the first wave only.)
            let told = warnings.iter().filter(|warning| warning.to_string().contains("2 others follow it"));
            assert_eq!(
                (told.count(), warnings.len()),
                if file == "a.wav" { (1, 1) } else { (0, 0) },
                "{input}"
            );
        }
    }
}

/// An end within a packet or a block tells that a file is cut, where ffmpeg decodes it and says nothing.
#[test]
fn an_end_within_a_packet_is_told() {
    let folder = Folder::new("packets");
    let from = folder.write("1.wav", wave(16_000, 1, &tone(16_000, 500.0, 2.0)));
    for (file, coding) in [
        ("a.flv", "libmp3lame -ar 44100"),
        ("a.voc", "pcm_s16le"),
        ("a.wv", "wavpack"),
        ("a.tta", "tta"),
        ("a.ts", "mp2 -ar 48000"),
        ("a.m2ts", "ac3 -ar 48000"),
        ("a.mpg", "mp2 -ar 48000"),
        ("a.ac3", "ac3 -ar 48000"),
        ("a.caf", "alac"),
        ("a.dts", "dca -strict -2 -ar 48000"),
        ("a.mlp", "mlp -strict -2 -ar 48000"),
        ("a.thd", "truehd -strict -2 -ar 48000"),
        ("b.ts", "truehd -strict -2 -ar 48000"),
        ("a.mka", "truehd -strict -2 -ar 48000"),
        ("a.sf", "pcm_s16le"),
        ("a.sox", "pcm_s32le"),
        ("a.adx", "adpcm_adx"),
    ] {
        let name = folder.path(file);
        if !ffmpeg(&format!("-i {from} -c:a {coding} {name}")) {
            return;
        }
        let (rate, samples, warnings) = read(&name).unwrap();
        let seconds = samples.len() as f64 / f64::from(rate);
        assert!(warnings.is_empty() && (1.9..2.2).contains(&seconds), "{name}: {seconds} s, {warnings:?}");
        let bytes = std::fs::read(&name).unwrap();
        // (No multiple of a packet's size.)
        let cut = folder.write(&format!("cut.{file}"), &bytes[..bytes.len() * 3 / 5 / 188 * 188 + 91]);
        for input in [cut.clone(), format!("cat {cut} |")] {
            match read(&input) {
                Ok((_, found, warnings)) => {
                    let told = warnings.iter().any(|warning| matches!(warning, Warning::Cut { .. }));
                    assert!(told && found.len() < samples.len(), "{input}: {warnings:?}");
                }
                // (The index of CAF lies behind the sound, and WavPack has one block a second.)
                Err(error) => assert!(matches!(error, Error::Cut { .. }), "{input}: {error}"),
            }
        }
    }
}

/// Time stamps that do not go on, as RealMedia files of ffmpeg have them, lose no sound. Windows TV is read by seeking.
#[test]
fn time_stamps_that_go_back_lose_no_sound() {
    let folder = Folder::new("back");
    let from = folder.write("1.wav", wave(16_000, 1, &tone(16_000, 500.0, 2.0)));
    for (file, coding) in [("a.rm", "aac"), ("b.rm", "real_144 -ar 8000"), ("a.wtv", "mp2 -ar 48000")] {
        let name = folder.path(file);
        if !ffmpeg(&format!("-i {from} -c:a {coding} {name}")) {
            return;
        }
        for input in [name.clone(), format!("cat {name} |")] {
            let (rate, samples, warnings) = read(&input).unwrap();
            let seconds = samples.len() as f64 / f64::from(rate);
            assert!(
                (2.0..2.2).contains(&seconds) && warnings.is_empty(),
                "{input}: {seconds} s, {warnings:?}"
            );
            let found = frequency(&samples[samples.len() / 4..samples.len() * 3 / 4], rate);
            assert!((490.0..510.0).contains(&found), "{input}: {found} Hz");
        }
    }
}

/// A decoder that takes the mark of an end for the end of all sound.
#[test]
fn packets_that_are_not_decoded_are_told() {
    let folder = Folder::new("ended");
    let from = folder.write("1.wav", wave(16_000, 1, &tone(16_000, 500.0, 6.0)));
    let name = folder.path("a.adx");
    if !ffmpeg(&format!("-i {from} -c:a adpcm_adx {name}")) {
        return;
    }
    let bytes = std::fs::read(&name).unwrap();
    let twice = folder.write("twice.adx", [&bytes[..], &bytes].concat());
    for input in [twice.clone(), format!("cat {twice} |")] {
        let (_, samples, warnings) = read(&input).unwrap();
        let [Warning::Perhaps { at, seconds: Some(seconds), .. }] = warnings[..] else {
            panic!("{input}: {warnings:?}")
        };
        assert_eq!((samples.len(), at), (96_000, 6.0), "{input}");
        assert!((5.5..6.5).contains(&seconds), "{input}: {seconds} s");
    }
}

/// A file that ends before its first sample is one that was cut, whatever its decoder says.
#[test]
fn an_end_within_the_header_is_told() {
    let folder = Folder::new("headers");
    for (file, size) in [
        ("chirp.flac", 20),
        ("chirp.flac", 300),
        ("chirp.mp3", 300),
        ("chirp.aac", 60),
        ("chirp.caf", 40),
        ("chirp.ogg", 60),
        ("chirp.mkv", 60),
    ] {
        let name = folder.write(&format!("{size}.{file}"), &data(file)[..size]);
        for input in [name.clone(), format!("cat {name} |")] {
            let error = read(&input).unwrap_err();
            assert!(matches!(error, Error::Cut { .. } | Error::NoDecoder { .. }), "{input}: {error}");
        }
    }
}

/// The beginnings and lengths of the pages of an Ogg file.
fn pages(ogg: &[u8]) -> Vec<(usize, usize)> {
    let (mut at, mut all) = (0, Vec::new());
    while at < ogg.len() {
        assert_eq!(&ogg[at..at + 4], b"OggS");
        let segments = usize::from(ogg[at + 26]);
        let body: usize = ogg[at + 27..at + 27 + segments].iter().map(|&size| usize::from(size)).sum();
        all.push((at, 27 + segments + body));
        at += 27 + segments + body;
    }
    all
}

/// Seconds that warnings tell to be missing and not replaced by silence.
fn told(warnings: &[Warning]) -> f64 {
    let of = |warning: &Warning| match warning {
        Warning::Gap { seconds, filled: false, .. } => *seconds,
        Warning::Cut { missing, .. } => missing.unwrap_or(f64::NAN),
        _ => 0.0,
    };
    warnings.iter().map(of).sum()
}

/// Wherever a page is damaged, silence or a warning with seconds takes the place of its sound.
#[test]
fn damaged_pages_of_ogg_are_told_in_seconds() {
    let folder = Folder::new("pages");
    let from = folder.write("1.wav", wave(16_000, 1, &tone(16_000, 500.0, 8.0)));
    for coding in ["libvorbis", "flac", "libopus"] {
        let whole = folder.path("whole.ogg");
        if !ffmpeg(&format!("-i {from} -c:a {coding} -page_duration 500000 {whole}")) {
            return;
        }
        let ogg = std::fs::read(&whole).unwrap();
        let (rate, samples, warnings) = read(&whole).unwrap();
        assert_eq!(warnings, [], "{coding}");
        let pages = pages(&ogg);
        assert!(pages.len() > 8, "{coding}: {} pages", pages.len());
        // (ffmpeg decodes Opus, which takes long.)
        let last = pages.len() - 1;
        let chosen =
            if coding == "libopus" { vec![2, last - 1] } else { vec![2, 3, last / 2, last - 1, last] };
        for number in chosen {
            let (at, length) = pages[number];
            let is_last = number == last;
            let zeros = [&ogg[..at], &vec![0; length], &ogg[at + length..]].concat();
            let left_out = [&ogg[..at], &ogg[at + length..]].concat();
            let mut changed = ogg.clone();
            changed[at + length - 1] ^= 0x10;
            for (fault, bytes) in [("zeros", zeros), ("left out", left_out), ("changed", changed)] {
                let name = folder.write("damaged.ogg", bytes);
                let (_, found, warnings) = read(&name).unwrap();
                assert!(!warnings.is_empty(), "{coding}, page {number}, {fault}");
                let missing = samples.len() as f64 - found.len() as f64;
                let seconds = told(&warnings);
                let right = match seconds.is_nan() {
                    // The length is not known without the last page.
                    true => is_last && fault != "changed",
                    false => (missing / f64::from(rate) - seconds).abs() < 0.03,
                };
                assert!(right, "{coding}, page {number}, {fault}: {missing} samples, {warnings:?}");
            }
        }
    }
}

/// A page that is lost at the end of the first of two joined files.
#[test]
fn a_joined_ogg_file_without_its_last_page_is_cut() {
    let folder = Folder::new("links");
    let ogg = data("chirp.ogg");
    let pages = pages(&ogg);
    let last = pages[pages.len() - 1].0;
    let name = folder.write("joined.ogg", [&ogg[..last], &ogg].concat());
    let (_, _, warnings) = read(&name).unwrap();
    let cut = |warning: &Warning| matches!(warning, Warning::Cut { reason, .. } if reason == "its last page is not there");
    assert!(warnings.iter().any(cut), "{warnings:?}");
}

/// Bytes of Matroska that are no element end the sound; the warning has the seconds.
#[test]
fn broken_elements_of_matroska_are_told() {
    let folder = Folder::new("elements");
    let mkv = data("chirp.mkv");
    let (rate, samples, warnings) = read(&folder.write("whole.mkv", &mkv)).unwrap();
    assert_eq!(warnings, []);
    // Bytes behind the segment are no fault of it.
    let padded = read(&folder.write("padded.mkv", [&mkv[..], &[0; 3]].concat())).unwrap();
    assert!(padded.1 == samples);
    for share in [3, 4, 5] {
        let at = mkv.len() * share / 7;
        let mut broken = mkv.clone();
        broken[at..at + mkv.len() / 7].fill(0x5a);
        let (_, found, warnings) = read(&folder.write("broken.mkv", broken)).unwrap();
        let missing = (samples.len() as f64 - found.len() as f64) / f64::from(rate);
        assert!(!warnings.is_empty(), "{share}: {missing} s are missing");
        assert!(told(&warnings) > missing - 0.05, "{share}: {missing} s, {warnings:?}");
    }
}
