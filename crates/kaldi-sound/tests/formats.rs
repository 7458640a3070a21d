//! Half a second of two tones in files that ffmpeg made of `chirp.wav`.

use std::path::PathBuf;

use kaldi_sound::{Channels, Error, SoundStream, Warning};

fn file(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

/// Sampling rate, all samples of the chosen signals, and the warnings.
type Recording = (u32, Vec<Vec<f32>>, Vec<Warning>);

fn read(rxfilename: &str, which: Channels) -> Result<Recording, Error> {
    let mut sound = SoundStream::open(rxfilename)?;
    let signals = sound.signals(which)?;
    let mut all = vec![Vec::new(); signals.len()];
    loop {
        let new = sound.read(1000, &signals)?;
        if new.iter().all(Vec::is_empty) {
            break;
        }
        all.iter_mut().zip(&new).for_each(|(all, new)| all.extend_from_slice(new));
    }
    let (rate, warnings) = (sound.sample_rate(), sound.warnings());
    sound.close()?;
    Ok((rate, all, warnings))
}

fn correlation(a: &[f32], b: &[f32]) -> f64 {
    let sum = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    sum(a, b) / (sum(a, a) * sum(b, b)).sqrt()
}

/// An error with all its causes.
fn whole(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(|error| format!("{error}: ")).collect()
}

/// The largest correlation with the wave, shifted by at most the delay of an encoder.
fn best_correlation(wave: &[f32], found: &[f32]) -> f64 {
    let most = found.len().saturating_sub(wave.len()).clamp(1, 3000);
    let middle = &wave[1000..6000];
    let at =
        |shift: usize| found.get(1000 + shift..6000 + shift).map_or(0.0, |part| correlation(middle, part));
    (0..=most).map(at).fold(0.0, f64::max)
}

#[test]
fn formats_without_loss() {
    let (rate, wave, _) = read(&file("chirp.wav"), Channels::Each).unwrap();
    assert_eq!((rate, wave.len(), wave[0].len()), (16000, 2, 8000));
    for name in ["chirp.flac", "chirp.aiff", "chirp.caf", "chirp.mkv"] {
        let (rate, found, complaint) = read(&file(name), Channels::Each).unwrap();
        assert_eq!((rate, complaint), (16000, vec![]), "{name}");
        assert!(found == wave, "{name}: {} samples", found[0].len());
        let (_, piped, _) = read(&format!("cat {} |", file(name)), Channels::Each).unwrap();
        assert!(piped == wave, "{name} through a pipe");
    }
}

#[test]
fn formats_with_loss() {
    let (_, wave, _) = read(&file("chirp.wav"), Channels::Each).unwrap();
    for name in ["chirp.mp3", "chirp.ogg", "chirp.m4a", "chirp.webm", "chirp.aac", "adpcm.wav"] {
        for input in [file(name), format!("cat {} |", file(name))] {
            let (rate, found, complaint) = read(&input, Channels::Each).unwrap();
            assert_eq!((rate, found.len(), complaint), (16000, 2, vec![]), "{input}");
            for (channel, found) in wave.iter().zip(&found) {
                let near = best_correlation(channel, found);
                assert!(near > 0.99, "{input}: {} samples, correlation {near}", found.len());
            }
        }
    }
}

#[test]
fn channels() {
    let (_, each, _) = read(&file("chirp.flac"), Channels::Each).unwrap();
    assert_eq!(read(&file("chirp.flac"), Channels::First).unwrap().1, each[..1]);
    assert_eq!(read(&file("chirp.flac"), Channels::Number(2)).unwrap().1, each[1..]);
    let (_, mixed, _) = read(&file("chirp.wav"), Channels::Mix).unwrap();
    let mean: Vec<f32> = each[0].iter().zip(&each[1]).map(|(a, b)| (a + b) / 2.0).collect();
    assert_eq!(mixed, [mean]);
    let error = read(&file("chirp.wav"), Channels::Number(3)).unwrap_err().to_string();
    assert!(error.contains("has no channel 3") && error.ends_with("from 1 to 2"), "{error}");
}

/// Opus and Windows Media are left to ffmpeg.
#[test]
fn formats_for_ffmpeg() {
    let there = std::process::Command::new("ffmpeg").arg("-version").output().is_ok();
    for name in ["chirp.opus", "chirp.wma"] {
        for input in [file(name), format!("cat {} |", file(name))] {
            match read(&input, Channels::First) {
                Ok((rate, samples, _)) => {
                    assert!(there && rate >= 16000 && samples[0].len() > 7000, "{input}")
                }
                Err(error) => {
                    assert!(!there, "{error}");
                    assert!(error.to_string().contains("ffmpeg"), "{error}");
                }
            }
        }
    }
}

#[test]
fn damaged_and_other_files() {
    let folder = std::env::temp_dir().join(format!("kaldi-sound-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    for name in ["chirp.flac", "chirp.mp3", "chirp.ogg", "chirp.m4a", "chirp.mkv"] {
        let bytes = std::fs::read(file(name)).unwrap();
        std::fs::write(path("cut"), &bytes[..bytes.len() / 2]).unwrap();
        match read(&path("cut"), Channels::Each) {
            Ok((_, samples, _)) => assert!(samples[0].len() < 8000, "{name}"),
            Err(error) => assert!(error.to_string().contains("cut"), "{error}"),
        }
    }
    for (bytes, why) in [(&b""[..], "is empty"), (b"some text\n", ""), (b"PK\x03\x04aaaaaaaaaa", "ZIP")] {
        std::fs::write(path("other"), bytes).unwrap();
        let error = whole(&read(&path("other"), Channels::First).unwrap_err());
        assert!(error.contains("other") && error.contains(why), "{error}");
    }
    let error = read(&path("none"), Channels::First).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The wave that is written of a recording has the samples of all its channels.
#[test]
fn the_wave_of_a_recording_has_its_samples() {
    let path = std::env::temp_dir().join(format!("kaldi-sound-wave-{}", std::process::id()));
    let mut wave = Vec::new();
    SoundStream::open(&file("chirp.flac")).unwrap().write_wave(&mut wave, |_| ()).unwrap();
    std::fs::write(&path, &wave).unwrap();
    let found = read(&path.display().to_string(), Channels::Each).unwrap();
    let expected = read(&file("chirp.flac"), Channels::Each).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(found, expected);
    assert_eq!(found.1.len(), 2, "several channels");
}
