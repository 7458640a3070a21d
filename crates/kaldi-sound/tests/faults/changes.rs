//! Recordings whose sound changes or stops in the middle: another rate, other channels, a missing fragment, a file behind another.

use super::*;

#[test]
fn mp3_that_changes_rate_and_channels_is_all_given_at_the_first_rate() {
    let folder = Folder::new("changes");
    let mut joined = Vec::new();
    for (n, (rate, channels)) in [(16_000, 1), (44_100, 2), (16_000, 1)].into_iter().enumerate() {
        let samples: Vec<i16> =
            tone(rate, 500.0, 1.0).iter().flat_map(|&x| vec![x; channels.into()]).collect();
        let from = folder.write("one.wav", wave(rate, channels, &samples));
        let to = folder.path(&format!("{n}.mp3"));
        // (Without notes at the beginning of each: one stream that changes.)
        if !ffmpeg(&format!("-i {from} -c:a libmp3lame -write_xing 0 -id3v2_version 0 {to}")) {
            return;
        }
        joined.extend(std::fs::read(&to).unwrap());
    }
    let name = folder.write("all.mp3", joined);
    for input in [name.clone(), format!("cat {name} |")] {
        let (rate, samples, warnings) = read(&input).unwrap();
        let seconds = samples.len() as f32 / rate as f32;
        assert!(rate == 16_000 && (3.0..3.5).contains(&seconds), "{rate} Hz, {seconds} s");
        assert_eq!(warnings, [], "{input}");
        for middle in [0.5, 1.6, 2.7] {
            let at = (middle * rate as f32) as usize;
            let found = frequency(&samples[at..at + 4000], rate);
            assert!((490.0..510.0).contains(&found), "{found} Hz at {middle} s");
        }
    }
}

/// ffmpeg writes MP2 of one channel with a bit rate that the standard does not allow.
#[test]
fn mp2_that_changes_rate_and_channels_is_all_given() {
    let folder = Folder::new("mp2");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 1.0)));
    let mut made = Vec::new();
    for (n, form) in [
        "-ar 48000 -ac 2",
        "-ar 48000 -ac 1",
        "-ar 44100 -ac 1",
        "-ar 48000 -ac 1 -b:a 224k",
        "-ar 44100 -ac 2 -b:a 48k",
        "-ar 24000 -ac 2 -b:a 80k",
        "-ar 32000 -ac 2",
    ]
    .into_iter()
    .enumerate()
    {
        let to = folder.path(&format!("{n}.mp2"));
        if !ffmpeg(&format!("-i {from} {form} {to}")) {
            return;
        }
        made.push(std::fs::read(&to).unwrap());
    }
    for (first, second) in (1..made.len()).flat_map(|n| [(0, n), (n, 0)]) {
        let name = folder.write("two.mp2", [&made[first][..], &made[second]].concat());
        for input in [name.clone(), format!("cat {name} |")] {
            let (rate, samples, warnings) = read(&input).unwrap();
            let seconds = samples.len() as f32 / rate as f32;
            assert!((2.0..2.2).contains(&seconds), "{first}, {second}: {seconds} s");
            assert_eq!(warnings, [], "{first}, {second}");
            for middle in [0.5, 1.6] {
                let at = (middle * rate as f32) as usize;
                let piece = &samples[at..at + rate as usize / 4];
                let found = frequency(piece, rate);
                assert!((495.0..505.0).contains(&found), "{first}, {second}: {found} Hz at {middle} s");
                let largest = piece.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
                assert!((5000.0..8500.0).contains(&largest), "{first}, {second}: {largest} at {middle} s");
            }
        }
    }
}

/// Streams of frames have no time stamps: those of ffmpeg are no gaps.
#[test]
fn frames_that_change_rate_and_channels_are_all_given() {
    let folder = Folder::new("frames");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 2.0)));
    for (coding, format, other) in [
        ("ac3", "ac3", 32_000),
        ("eac3", "eac3", 32_000),
        ("dca", "dts", 32_000),
        ("mlp", "mlp", 96_000),
        ("truehd", "truehd", 96_000),
        ("aac", "latm", 32_000),
    ] {
        let (mono, stereo) = (folder.path("mono"), folder.path("stereo"));
        let options = format!("-c:a {coding} -strict -2 -f {format}");
        if !ffmpeg(&format!("-i {from} -ar 48000 {options} {mono}"))
            || !ffmpeg(&format!("-i {from} -ar {other} -ac 2 {options} {stereo}"))
        {
            return;
        }
        for (first, second) in [(&mono, &stereo), (&stereo, &mono)] {
            let both = [std::fs::read(first).unwrap(), std::fs::read(second).unwrap()].concat();
            let name = folder.write("both", both);
            for input in [name.clone(), format!("cat {name} |")] {
                let (rate, samples, warnings) = read(&input).unwrap();
                let seconds = samples.len() as f32 / rate as f32;
                assert!((4.0..4.3).contains(&seconds), "{format}: {seconds} s");
                assert_eq!(warnings, [], "{format}");
                for middle in [1.0, 3.0] {
                    let at = (middle * rate as f32) as usize;
                    let found = frequency(&samples[at..at + rate as usize / 4], rate);
                    assert!((490.0..510.0).contains(&found), "{format}: {found} Hz at {middle} s");
                }
            }
        }
    }
}

/// The boxes of an MP4 file: names, beginnings and ends.
fn mp4_boxes(bytes: &[u8]) -> Vec<(String, usize, usize)> {
    let (mut at, mut all) = (0, Vec::new());
    while at < bytes.len() {
        let size = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        all.push((String::from_utf8(bytes[at + 4..at + 8].to_vec()).unwrap(), at, at + size));
        at += size;
    }
    all
}

/// Fragments of MP4 have times: silence takes the place of a missing one, whatever the fragments behind it say about their places.
#[test]
fn a_missing_fragment_of_mp4_becomes_silence() {
    let folder = Folder::new("fragments");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 8.0)));
    let picture = "-f lavfi -i color=c=red:s=64x64:r=25:d=8";
    for (file, options) in [
        ("a.mp4", "-c:a aac -movflags empty_moov+default_base_moof -frag_duration 1000000"),
        ("b.mp4", "-c:a aac -movflags empty_moov -frag_duration 1000000"),
        ("c.mp4", "-c:a aac -c:v mpeg4 -g 25 -movflags frag_keyframe+empty_moov"),
        ("d.mp4", "-c:a aac -c:v mpeg4 -g 25 -movflags frag_keyframe"),
        ("e.mp4", "-c:a aac -movflags cmaf -frag_duration 1000000"),
        ("f.mp4", "-c:a libopus -ar 48000 -movflags empty_moov -frag_duration 1000000"),
    ] {
        let name = folder.path(file);
        let inputs =
            if options.contains("-c:v") { format!("{picture} -i {from}") } else { format!("-i {from}") };
        if !ffmpeg(&format!("{inputs} {options} {name}")) {
            return;
        }
        let bytes = std::fs::read(&name).unwrap();
        let (rate, whole, warnings) = read(&name).unwrap();
        assert_eq!(warnings, [], "{file}");
        let boxes = mp4_boxes(&bytes);
        let fragments: Vec<_> = boxes.iter().filter(|(name, ..)| name == "moof").collect();
        assert!(fragments.len() > 6, "{file}: {} fragments", fragments.len());
        let (begin, end) = (fragments[3].1, fragments[4].1);
        let gap = folder.write(&format!("gap.{file}"), [&bytes[..begin], &bytes[end..]].concat());
        for input in [gap.clone(), format!("cat {gap} |")] {
            let (_, samples, warnings) = read(&input).unwrap();
            assert!(samples.len().abs_diff(whole.len()) <= rate as usize / 50, "{input}: {}", samples.len());
            if file == "f.mp4" {
                // (ffmpeg decodes Opus.)
                assert!(
                    warnings.len() == 1 && warnings[0].to_string().contains("silence takes"),
                    "{warnings:?}"
                );
                continue;
            }
            let [Warning::Gap { at, seconds, filled: true }] = warnings[..] else {
                panic!("{input}: {warnings:?}");
            };
            assert!(
                (0.9..1.2).contains(&seconds) && (2.5..4.5).contains(&at),
                "{input}: {seconds} s at {at} s"
            );
            let (first, last) =
                ((at * f64::from(rate)) as usize, ((at + seconds) * f64::from(rate)) as usize);
            // (A packet of AAC overlaps with the one before.)
            let packet = 2100;
            assert!(samples[first + 1..last - 1].iter().all(|&x| x == 0.0), "{input}");
            assert!(samples[..first] == whole[..first], "{input}");
            assert!(samples[last + packet..] == whole[last + packet..], "{input}");
        }
    }
}

/// Runs ffmpeg with its output in a pipe, so that headers give no length. `None` if it is not there.
fn streamed(arguments: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-v", "error"]).args(arguments.split_whitespace()).arg("-");
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "ffmpeg {arguments}");
            Some(output.stdout)
        }
        Err(_) => {
            println!("skipped: ffmpeg is not installed");
            None
        }
    }
}

/// Waves and CAF files without lengths: each is decoded as what it is.
#[test]
fn streamed_files_that_are_joined_are_all_decoded() {
    let folder = Folder::new("streamed");
    let from = folder.write("one.wav", wave(8000, 1, &tone(8000, 500.0, 1.0)));
    let forms = [
        "-c:a pcm_s16le",
        "-c:a pcm_s16le -ar 16000",
        "-c:a pcm_s24le",
        "-c:a pcm_f32le",
        "-c:a pcm_mulaw",
        "-c:a pcm_s16le -ar 44100 -ac 2",
    ];
    for format in ["wav", "caf"] {
        let made: Vec<Vec<u8>> =
            forms.iter().map_while(|form| streamed(&format!("-i {from} {form} -f {format}"))).collect();
        if made.len() < forms.len() {
            return;
        }
        for (first, second) in (0..forms.len()).flat_map(|n| [(0, n), (n, 0)]) {
            let name = folder.write("two", [&made[first][..], &made[second]].concat());
            for input in [name.clone(), format!("cat {name} |")] {
                let (rate, samples, warnings) = read(&input).unwrap();
                let about = format!("{format}: {}, {}", forms[first], forms[second]);
                assert!(samples.len().abs_diff(2 * rate as usize) < 20, "{about}: {}", samples.len());
                let told =
                    warnings.iter().filter(|warning| warning.to_string().contains("another one follows it"));
                assert_eq!(
                    (told.count(), warnings.len()),
                    if format == "wav" { (1, 1) } else { (0, 0) },
                    "{about}"
                );
                for middle in [0.3, 1.3] {
                    let at = (middle * rate as f32) as usize;
                    let piece = &samples[at..at + rate as usize / 2];
                    let found = frequency(piece, rate);
                    assert!((495.0..505.0).contains(&found), "{about}: {found} Hz at {middle} s");
                    let largest = piece.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
                    assert!((5500.0..8500.0).contains(&largest), "{about}: {largest} at {middle} s");
                }
            }
        }
    }
    // Files of other formats are told.
    let Some(first) = streamed(&format!("-i {from} -f wav")) else { return };
    for other in
        ["flac", "mp3", "mp3 -id3v2_version 0", "mp3 -id3v2_version 0 -write_xing 0", "ogg", "aiff", "caf"]
    {
        let to = folder.path("behind");
        if !ffmpeg(&format!("-i {from} -ar 44100 -f {other} {to}")) {
            return;
        }
        let name = folder.write("two", [first.clone(), std::fs::read(&to).unwrap()].concat());
        for input in [name.clone(), format!("cat {name} |")] {
            let (_, samples, warnings) = read(&input).unwrap();
            let said = warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            assert!(said.contains("joined to the first 1.00 s of sound is left out"), "{other}: {said}");
            assert_eq!(samples.len(), 8000, "{other}");
        }
    }
    // Behind CAF without a length they are decoded.
    let Some(first) = streamed(&format!("-i {from} -f caf")) else { return };
    for other in ["flac", "mp3", "mp3 -id3v2_version 0 -write_xing 0", "ogg", "aiff", "wav"] {
        let to = folder.path("behind");
        if !ffmpeg(&format!("-i {from} -ar 44100 -f {other} {to}")) {
            return;
        }
        let name = folder.write("two", [first.clone(), std::fs::read(&to).unwrap()].concat());
        for input in [name.clone(), format!("cat {name} |")] {
            let (rate, samples, warnings) = read(&input).unwrap();
            let seconds = samples.len() as f32 / rate as f32;
            assert!((1.98..2.1).contains(&seconds), "{other}: {seconds} s, {warnings:?}");
            assert_eq!(warnings, [], "{other}");
            let found = frequency(&samples[samples.len() * 5 / 8..samples.len() * 7 / 8], rate);
            assert!((490.0..510.0).contains(&found), "{other}: {found} Hz");
        }
    }
}

/// Files of several formats one behind the other: each begins where the header of the one before says that it ends.
#[test]
fn files_of_other_formats_behind_one_with_a_length_are_decoded() {
    let folder = Folder::new("formats");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 1.0)));
    let mut made = Vec::new();
    for (file, options) in [
        ("a.aiff", "-c:a pcm_s16be"),
        ("a.au", "-c:a pcm_s16be"),
        ("a.ast", "-c:a pcm_s16be_planar -ar 32000"),
        ("a.mmf", "-c:a adpcm_yamaha -ar 22050"),
        ("a.sox", "-c:a pcm_s32le"),
        ("a.w64", "-c:a pcm_s16le"),
        ("a.caf", "-c:a pcm_s16be"),
        ("a.tta", "-c:a tta"),
        ("a.flac", ""),
        ("a.mp3", ""),
        ("a.ogg", "-c:a libvorbis"),
    ] {
        let name = folder.path(file);
        if !ffmpeg(&format!("-i {from} {options} {name}")) {
            return;
        }
        made.push((file, std::fs::read(&name).unwrap()));
    }
    // (A NIST SPHERE file, as sox writes it.)
    let header = "NIST_1A\n   1024\nchannel_count -i 1\nsample_count -i 16000\nsample_rate -i 16000\nsample_n_bytes -i 2\n\
         sample_byte_format -s2 01\nsample_sig_bits -i 16\nsample_coding -s3 pcm\nend_head\n";
    let mut sphere = header.as_bytes().to_vec();
    sphere.resize(1024, b' ');
    sphere.extend(tone(16_000, 500.0, 1.0).iter().flat_map(|x| x.to_le_bytes()));
    made.push(("a.sph", sphere));
    made.push(("a.wav", wave(16_000, 1, &tone(16_000, 500.0, 1.0))));
    let with_length = ["a.aiff", "a.au", "a.ast", "a.mmf", "a.sox", "a.w64", "a.caf", "a.tta", "a.sph"];
    for (first, bytes) in made.iter().filter(|(file, _)| with_length.contains(file)) {
        let others = if *first == "a.aiff" {
            vec!["a.flac", "a.mp3", "a.wav", "a.ogg", first]
        } else {
            vec!["a.wav", first]
        };
        for (second, behind) in made.iter().filter(|(file, _)| others.contains(file)) {
            let name = folder.write("two", [&bytes[..], behind].concat());
            for input in [name.clone(), format!("cat {name} |")] {
                let (rate, samples, warnings) = read(&input).unwrap();
                let seconds = samples.len() as f32 / rate as f32;
                assert!((1.97..2.1).contains(&seconds), "{first}, {second}: {seconds} s, {warnings:?}");
                assert_eq!(warnings, [], "{first}, {second}");
                for middle in [0.3, 1.3] {
                    let at = (middle * rate as f32) as usize;
                    let found = frequency(&samples[at..at + rate as usize / 2], rate);
                    assert!((495.0..505.0).contains(&found), "{first}, {second}: {found} Hz at {middle} s");
                }
            }
        }
        // Bytes of no form are left out; the warning has their seconds as if they were sound.
        let name = folder.write("two", [&bytes[..], &vec![1; bytes.len() / 2]].concat());
        let (_, _, warnings) = read(&name).unwrap();
        let [Warning::LeftOut { at, seconds: Some(seconds), .. }] = warnings[..] else {
            assert!(["a.mmf", "a.sph", "a.sox"].contains(first), "{first}: {warnings:?}");
            continue;
        };
        assert!((0.98..1.6).contains(&at) && (0.3..0.6).contains(&seconds), "{first}: {warnings:?}");
    }
}

/// Packets of AAC in M4A that cannot be decoded become silence; those behind them are right.
#[test]
fn damaged_packets_of_m4a_become_silence() {
    let folder = Folder::new("packets_m4a");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 8.0)));
    let name = folder.path("a.m4a");
    if !ffmpeg(&format!("-i {from} -c:a aac {name}")) {
        return;
    }
    let whole = std::fs::read(&name).unwrap();
    let (_, expected, warnings) = read(&name).unwrap();
    assert_eq!(warnings, []);
    let (_, begin, end) = mp4_boxes(&whole).into_iter().find(|(name, ..)| name == "mdat").unwrap();
    for share in 1..40 {
        for fill in [0xff, 0x55, 0] {
            let at = begin + 8 + (end - begin) * share / 42;
            let mut damaged = whole.clone();
            damaged[at..at + 60].fill(fill);
            let (_, samples, warnings) = read(&folder.write("damaged.m4a", &damaged)).unwrap();
            assert_eq!(samples.len(), expected.len(), "{share}, {fill}: {warnings:?}");
            let different = samples.iter().zip(&expected).filter(|(a, b)| a != b).count();
            assert!(different < 8 * 1024, "{share}, {fill}: {different} samples");
        }
    }
}

/// A warning says that a fragment of MP4 is missing before the first one; its length is not known.
#[test]
fn a_missing_first_fragment_of_mp4_is_told() {
    let folder = Folder::new("first");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 8.0)));
    for (file, options) in [
        ("a.mp4", "-c:a aac -movflags empty_moov+default_base_moof -frag_duration 1000000"),
        ("b.mp4", "-c:a libopus -ar 48000 -movflags empty_moov -frag_duration 1000000"),
        ("c.mp4", "-c:a aac -movflags frag_keyframe -frag_duration 1000000"),
    ] {
        let name = folder.path(file);
        if !ffmpeg(&format!("-i {from} {options} {name}")) {
            return;
        }
        let bytes = std::fs::read(&name).unwrap();
        let (_, whole, warnings) = read(&name).unwrap();
        assert_eq!(warnings, [], "{file}");
        let fragments: Vec<_> = mp4_boxes(&bytes).into_iter().filter(|(name, ..)| name == "moof").collect();
        let (begin, end) = (fragments[0].1, fragments[1].1);
        let gap = folder.write("gap.mp4", [&bytes[..begin], &bytes[end..]].concat());
        for input in [gap.clone(), format!("cat {gap} |")] {
            let (rate, samples, warnings) = read(&input).unwrap();
            let said = warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let missing = (whole.len() as f32 - samples.len() as f32) / rate as f32;
            if file == "c.mp4" {
                // (The index has packets of its own, so that the gap has a length.)
                assert!(
                    missing < 0.03 && said.contains("silence takes their place"),
                    "{input}: {missing} s, {said}"
                );
            } else {
                assert!((0.9..1.2).contains(&missing), "{input}: {missing} s");
                assert!(
                    said.contains("its first fragment has the number 2 and begins at"),
                    "{input}: {said}"
                );
            }
        }
    }
}

/// Pictures that go on behind the sound tell that a file without its end may have all of it.
#[test]
fn sound_that_ended_before_the_end_of_a_cut_file_may_be_whole() {
    let folder = Folder::new("behind");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 3.0)));
    let name = folder.path("a.mkv");
    let picture = "-f lavfi -i testsrc=s=64x64:r=25:d=20";
    if !ffmpeg(&format!("{picture} -i {from} -c:a aac -c:v mpeg4 {name}")) {
        return;
    }
    let bytes = std::fs::read(&name).unwrap();
    let cut = folder.write("cut.mkv", &bytes[..bytes.len() * 4 / 5]);
    let (rate, samples, warnings) = read(&cut).unwrap();
    assert!(samples.len() > 3 * rate as usize, "{}", samples.len());
    let said = warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    assert!(said.contains("it may be whole") && !said.contains("early"), "{said}");
}

/// Bytes of another form have a place.
#[test]
fn bytes_that_are_no_sound_have_a_place() {
    let folder = Folder::new("place");
    let from = folder.write("one.wav", wave(16_000, 1, &tone(16_000, 500.0, 2.0)));
    for (file, other) in [("a.mp3", "b.wav"), ("a.ogg", "b.flac")] {
        let (one, two) = (folder.path(file), folder.path(other));
        if !ffmpeg(&format!("-i {from} {one}")) || !ffmpeg(&format!("-i {from} {two}")) {
            return;
        }
        let both = [std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap()].concat();
        let (_, _, warnings) = read(&folder.write("two", both)).unwrap();
        let said = warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        assert!(said.contains("at 2.0") && warnings.len() == 1, "{file}, {other}: {said}");
    }
}

/// ffmpeg calls the end of Westwood audio a failure, and does not read a second file behind the first one.
#[test]
fn messages_of_ffmpeg_have_a_place() {
    let folder = Folder::new("messages");
    let from = folder.write("one.wav", wave(22_050, 1, &tone(22_050, 500.0, 2.0)));
    let name = folder.path("a.aud");
    if !ffmpeg(&format!("-i {from} -c:a adpcm_ima_ws -f wsaud {name}")) {
        return;
    }
    assert_eq!(read(&name).unwrap().2, []);
    let bytes = std::fs::read(&name).unwrap();
    let (_, _, warnings) = read(&folder.write("two.aud", [&bytes[..], &bytes].concat())).unwrap();
    let said = warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    assert!(said.starts_with("sound may be missing, at 2.00 s or before: ffmpeg: Invalid data"), "{said}");
}
