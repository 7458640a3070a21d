//! Files of other tools: numpy, kaldiio, Sphinx, ffmpeg. Bytes are as these tools write them.

use crate::command_lines::{fails, output, run};
use crate::common::Folder;

/// kaldiio writes an utterance without frames with its columns: it is an empty matrix, which is left out.
#[test]
fn matrices_without_rows_or_columns() {
    let folder = Folder::new("empty");
    let matrix = |key: &str, kind: &str, rows: i32, cols: i32, data: &[u8]| {
        [
            key.as_bytes(),
            b" \0B",
            kind.as_bytes(),
            b" \x04",
            &rows.to_le_bytes(),
            b"\x04",
            &cols.to_le_bytes(),
            data,
        ]
        .concat()
    };
    let one = 1f32.to_le_bytes();
    // A compressed matrix has its range, and sizes without marks.
    let compressed = [
        &b"e \0BCM2 "[..],
        &0f32.to_le_bytes(),
        &1f32.to_le_bytes(),
        &0i32.to_le_bytes(),
        &13i32.to_le_bytes(),
    ]
    .concat();
    let all = [
        matrix("a", "FM", 1, 1, &one),
        matrix("b", "FM", 0, 13, &[]),
        matrix("c", "DM", 13, 0, &[]),
        compressed,
        matrix("f", "FM", 1, 1, &one),
    ];
    folder.write("in.ark", all.concat());
    let copied = output(&folder, "copy-feats ark:@in.ark ark,t:-");
    assert_eq!(copied.replace(' ', ""), "a[1]b[]c[]e[]f[1]");
    let sums = run(&folder, "matrix-sum-rows ark:@in.ark ark,t:-");
    assert_eq!(sums.status, 0, "{}", sums.stderr);
    assert!(sums.stdout.starts_with("a ") && sums.stdout.contains("\nf "), "{}", sums.stdout);
}

/// kaldiio writes vectors of integers in text with brackets.
#[test]
fn integers_in_brackets() {
    let folder = Folder::new("brackets");
    folder.write("ali", "a [ 1 2 3 ]\nb [3 4]\nc [ ]\nd 5 6\ne\n");
    let copied = run(&folder, "copy-int-vector ark:@ali ark,t:-");
    assert_eq!(
        (copied.status, copied.stdout.as_str()),
        (0, "a 1 2 3 \nb 3 4 \nc \nd 5 6 \ne \n"),
        "{}",
        copied.stderr
    );
    for bad in ["a [ 1 2\n", "a 1 2 ]\n", "a [ 1.5 ]\n", "a [ [ 1 ] ]\n"] {
        folder.write("ali", bad);
        fails(&folder, 255, "copy-int-vector ark:@ali ark,t:-", &["expected integers"]);
    }
}

/// Entries that a script finds in an archive of another kind are no vectors of integers.
#[test]
fn posteriors_and_pairs_are_no_integers() {
    let folder = Folder::new("posteriors");
    folder.write("ali", "a 3 3 4\nb 5 6\n");
    output(&folder, "ali-to-post ark:@ali ark,scp:@post.ark,@post.scp");
    for table in ["scp:@post.scp", "ark:@post.ark"] {
        let line = format!("copy-int-vector {table} ark,t:-");
        fails(&folder, 255, &line, &["key 'a'", "binary numbers follow the value, as they do in posteriors"]);
    }
    // An alignment by a script, and one at the end of its file, are whole.
    output(&folder, "copy-int-vector ark:@ali ark,scp:@ali.ark,@ali.scp");
    assert_eq!(output(&folder, "copy-int-vector scp:@ali.scp ark,t:-"), "a 3 3 4 b 5 6");
    assert_eq!(output(&folder, "copy-int-vector ark:@ali.ark ark,t:-"), "a 3 3 4 b 5 6");
}

#[test]
fn sphinx_files_of_both_orders_of_bytes() {
    let folder = Folder::new("sphinx");
    let row = (1..=13).map(|i| i.to_string()).collect::<Vec<_>>().join(" ");
    folder.write("in", format!("a  [\n  {row}\n  {row} ]\n"));
    output(&folder, "copy-feats-to-sphinx --output-dir=@ --output-ext=mfc ark:@in");
    let little = folder.read_bytes("a.mfc");
    folder.write("big.mfc", little.chunks(4).flat_map(|b| [b[3], b[2], b[1], b[0]]).collect::<Vec<u8>>());
    folder.write("x.scp", format!("a {}\nb {}\n", folder.path("a.mfc"), folder.path("big.mfc")));
    let expected = output(&folder, "copy-feats ark:@in ark,t:-");
    let found = output(&folder, "copy-feats --sphinx-in=true scp:@x.scp ark,t:-");
    assert_eq!(found, format!("{expected} {}", expected.replacen('a', "b", 1)));
}

fn wave(size: u32, seconds: usize) -> Vec<u8> {
    let riff = if size == u32::MAX { size } else { size + 36 };
    let mut bytes = [
        &b"RIFF"[..],
        &riff.to_le_bytes(),
        b"WAVEfmt ",
        &16u32.to_le_bytes(),
        &1u16.to_le_bytes(),
        &1u16.to_le_bytes(),
    ]
    .concat();
    bytes.extend(
        [&8000u32.to_le_bytes()[..], &16000u32.to_le_bytes(), &2u16.to_le_bytes(), &16u16.to_le_bytes()]
            .concat(),
    );
    bytes.extend([&b"data"[..], &size.to_le_bytes(), &vec![1; 16000 * seconds]].concat());
    bytes
}

/// ffmpeg and sox do not know the length of a wave that they write into a pipe.
#[test]
fn durations_of_waves_without_a_length() {
    let folder = Folder::new("streamed");
    let names = [("ffmpeg", u32::MAX, 1), ("sox", 0x7fff_f000, 2), ("plain", 48000, 3)];
    let mut scp = String::new();
    for (name, size, seconds) in names {
        let path = folder.write(&format!("{name}.wav"), wave(size, seconds));
        scp += &format!("{name} {path}\n{name}-pipe cat {path} |\n");
    }
    folder.write("wav.scp", scp);
    let done = run(&folder, "wav-to-duration scp:@wav.scp ark,t:-");
    let expected = "ffmpeg 1 \nffmpeg-pipe 1 \nsox 2 \nsox-pipe 2 \nplain 3 \nplain-pipe 3 \n";
    assert_eq!((done.status, done.stdout.as_str()), (0, expected), "{}", done.stderr);
    assert_eq!(done.stderr.matches("does not say how long it is").count(), 1, "{}", done.stderr);
    folder.write("wav.scp", format!("a head -c 50 {} |\n", folder.path("ffmpeg.wav")));
    let cut = run(&folder, "wav-to-duration scp:@wav.scp ark,t:-");
    assert_eq!((cut.status, cut.stdout.as_str()), (0, "a 0.000375 \n"), "{}", cut.stderr);
    folder.write("wav.scp", format!("a head -c 44 {} |\n", folder.path("ffmpeg.wav")));
    fails(&folder, 255, "wav-to-duration scp:@wav.scp ark,t:-", &["key 'a'", "there are no sound data"]);
}

/// Archives of kaldiio by `write_function="soundfile"`, byte for byte.
#[test]
fn archives_of_sound_files() {
    let folder = Folder::new("soundfile");
    let entry = |key: &str, sound: &[u8]| {
        let size = (sound.len() as u64).to_le_bytes();
        let length = size.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
        [key.as_bytes(), b" AUDIO", &[length as u8], &size[..length], sound].concat()
    };
    folder.write("wav.ark", [entry("a", &wave(16000, 1)), entry("b", &wave(32000, 2))].concat());
    assert_eq!(output(&folder, "wav-to-duration ark:@wav.ark ark,t:-"), "a 1 b 2");
    assert_eq!(output(&folder, "wav-copy ark:@wav.ark ark,scp:@copy.ark,@copy.scp"), "");
    assert_eq!(output(&folder, "wav-to-duration scp:@copy.scp ark,t:-"), "a 1 b 2");
    folder
        .write("x.scp", format!("b {}:{}\n", folder.path("wav.ark"), entry("a", &wave(16000, 1)).len() + 2));
    assert_eq!(output(&folder, "wav-to-duration scp:@x.scp ark,t:-"), "b 2");
    folder.write("flac.ark", entry("a", b"fLaC\x80\0\0\0 and more of it, which no wave has"));
    for program in ["wav-to-duration", "wav-copy", "compute-mfcc-feats"] {
        let line = format!("{program} ark:@flac.ark ark:-");
        fails(&folder, 255, &line, &["key 'a'", "archive of kaldiio has a FLAC file", "expected a wave"]);
    }
}
