//! Recordings with several streams: MPEG streams whose streams change, sound that begins behind the picture, tracks of Ogg.

use super::*;

/// The first sample that is no silence, in seconds.
fn first_sound(samples: &[f32], rate: u32) -> f32 {
    samples.iter().position(|x| x.abs() > 1000.0).unwrap_or(samples.len()) as f32 / rate as f32
}

/// MPEG streams one behind the other: with another rate, other channels, another coding, or another number.
#[test]
fn mpeg_streams_that_change_are_all_given() {
    let folder = Folder::new("mpeg");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 3.0)));
    let forms = [
        "-c:a mp2 -ar 48000 -ac 1",
        "-c:a mp2 -ar 44100 -ac 2",
        "-c:a ac3 -ar 48000 -ac 2",
        "-c:a mp2 -ar 48000 -ac 1 -streamid 0:0x1c5",
    ];
    for format in ["mpegts", "vob", "mpeg"] {
        let mut made = Vec::new();
        for form in forms {
            let to = folder.path("one");
            if !ffmpeg(&format!("-i {from} {form} -f {format} {to}")) {
                return;
            }
            made.push(std::fs::read(&to).unwrap());
        }
        for (first, second) in [(0, 1), (1, 0), (0, 2), (2, 1), (0, 3)] {
            let name = folder.write("two", [&made[first][..], &made[second]].concat());
            for input in [name.clone(), format!("cat {name} |")] {
                let (rate, samples, warnings) = read(&input).unwrap();
                let about = format!("{format}: {}, {}", forms[first], forms[second]);
                let seconds = samples.len() as f32 / rate as f32;
                assert!((5.95..6.2).contains(&seconds), "{about}: {seconds} s, {warnings:?}");
                assert_eq!(warnings, [], "{about}");
                for middle in [1.0, 2.5, 3.5, 5.0] {
                    let at = (middle * rate as f32) as usize;
                    let found = frequency(&samples[at..at + rate as usize / 4], rate);
                    assert!((490.0..510.0).contains(&found), "{about}: {found} Hz at {middle} s");
                }
            }
        }
    }
}

/// Sound that begins behind the picture begins with silence, in all containers with pictures.
#[test]
fn sound_that_begins_late_has_the_times_of_the_film() {
    let folder = Folder::new("late");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 3.0)));
    for (file, options) in [
        ("a.ts", "-c:a mp2 -ar 48000 -c:v mpeg2video"),
        ("b.ts", "-c:a aac -ar 48000 -c:v mpeg2video"),
        ("a.vob", "-c:a ac3 -ar 48000 -c:v mpeg2video"),
        ("a.mpg", "-c:a mp2 -ar 48000 -c:v mpeg1video"),
        ("a.ogv", "-c:a libvorbis -c:v libtheora"),
        ("b.ogv", "-c:a libopus -c:v libtheora"),
        ("a.mkv", "-c:a ac3 -ar 48000 -c:v mpeg4"),
        ("a.mp4", "-c:a ac3 -ar 48000 -c:v mpeg4"),
        ("a.flv", "-c:a libmp3lame -ar 44100 -c:v flv1"),
        ("a.wmv", "-c:a wmav2 -c:v wmv2"),
    ] {
        let name = folder.path(file);
        if !ffmpeg(&format!(
            "-f lavfi -i color=c=red:s=64x64:r=25:d=7 -itsoffset 2.5 -i {from} {options} {name}"
        )) {
            return;
        }
        for input in [name.clone(), format!("cat {name} |")] {
            let (rate, samples, warnings) = read(&input).unwrap();
            let (first, seconds) = (first_sound(&samples, rate), samples.len() as f32 / rate as f32);
            assert!((2.45..2.6).contains(&first), "{input}: {first} s, {warnings:?}");
            assert!((5.45..5.65).contains(&seconds), "{input}: {seconds} s");
            assert_eq!(warnings, [], "{input}");
        }
    }
}

/// ffmpeg looks at the first seconds of MPEG streams for sound.
#[test]
fn sound_of_mpeg_streams_that_begins_very_late_is_found() {
    let folder = Folder::new("later");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 3.0)));
    for (file, options) in
        [("a.ts", "-c:a mp2 -ar 48000 -c:v mpeg2video"), ("a.vob", "-c:a mp2 -ar 48000 -c:v mpeg2video")]
    {
        let name = folder.path(file);
        let picture = "-f lavfi -i color=c=red:s=64x64:r=25:d=30";
        if !ffmpeg(&format!("{picture} -itsoffset 22.5 -i {from} {options} {name}")) {
            return;
        }
        for input in [name.clone(), format!("cat {name} |")] {
            let (rate, samples, warnings) = read(&input).unwrap();
            let (first, seconds) = (first_sound(&samples, rate), samples.len() as f32 / rate as f32);
            assert!((22.45..22.6).contains(&first), "{input}: {first} s, {warnings:?}");
            assert!((25.45..25.65).contains(&seconds), "{input}: {seconds} s");
            assert_eq!(warnings, [], "{input}");
        }
    }
}

/// A gap in the time stamps has a place, whichever decoder finds it.
#[test]
fn gaps_have_a_place() {
    let folder = Folder::new("gaps");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 40.0)));
    for (file, options, cut) in [("a.ts", "-c:a mp2 -ar 48000", 188), ("a.vob", "-c:a ac3 -ar 48000", 2048)] {
        let name = folder.path(file);
        if !ffmpeg(&format!("-i {from} {options} {name}")) {
            return;
        }
        let bytes = std::fs::read(&name).unwrap();
        let at = |share: usize| bytes.len() * share / 40 / cut * cut;
        let gap = folder.write("gap", [&bytes[..at(10)], &bytes[at(25)..]].concat());
        for input in [gap.clone(), format!("cat {gap} |")] {
            let (rate, samples, warnings) = read(&input).unwrap();
            let seconds = samples.len() as f32 / rate as f32;
            assert!((39.9..40.2).contains(&seconds), "{input}: {seconds} s, {warnings:?}");
            let gaps: Vec<(f64, f64)> = warnings
                .iter()
                .filter_map(|warning| match warning {
                    Warning::Gap { at, seconds, filled: true } => Some((*at, *seconds)),
                    _ => None,
                })
                .collect();
            let [(at, seconds)] = gaps[..] else { panic!("{input}: {warnings:?}") };
            assert!((9.7..10.3).contains(&at) && (14.7..15.3).contains(&seconds), "{input}: {warnings:?}");
        }
    }
}

/// Ogg files with tracks of several codings.
#[test]
fn tracks_of_ogg_are_counted_and_taken() {
    let folder = Folder::new("ogg");
    let one = folder.write("1.wav", wave(16_000, 1, &tone(16_000, 500.0, 2.0)));
    let two = folder.write("2.wav", wave(16_000, 1, &tone(16_000, 1000.0, 2.0)));
    for codings in [
        ["libvorbis", "libopus"],
        ["libopus", "libvorbis"],
        ["libopus", "libopus"],
        ["libspeex", "libvorbis"],
        ["flac", "libopus"],
        ["flac", "libvorbis"],
    ] {
        let name = folder.path("two.ogg");
        let [first, second] = codings;
        if !ffmpeg(&format!("-i {one} -i {two} -map 0 -map 1 -c:a:0 {first} -c:a:1 {second} {name}")) {
            return;
        }
        for input in [name.clone(), format!("cat {name} |")] {
            for (track, expected) in [(None, 500.0), (Some(1), 500.0), (Some(2), 1000.0)] {
                let (rate, samples, warnings) = read_with(&input, Channels::First, track).unwrap();
                let found = frequency(&samples[samples.len() / 4..samples.len() / 2], rate);
                assert!((found / expected - 1.0).abs() < 0.02, "{codings:?}, {track:?}: {found} Hz");
                let said: Vec<Warning> = match track {
                    None => vec![Warning::OneOfTracks { taken: 1, count: 2 }],
                    Some(_) => Vec::new(),
                };
                assert_eq!(warnings, said, "{codings:?}, {track:?}");
            }
            let error = read_with(&input, Channels::First, Some(3)).unwrap_err();
            assert!(matches!(error, Error::NoTrack { there: 2, .. }), "{codings:?}: {error}");
        }
    }
}
