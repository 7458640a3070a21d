//! Recordings and texts in any form, as data folders.

use crate::command_lines::{fails, output};
use crate::common::{Folder, run};

/// A wave of 8,000 samples with 16 bits.
fn wave(rate: u32, channels: u16) -> Vec<u8> {
    let (block, samples) = (2 * channels, 8000u32);
    let bytes = samples * u32::from(block);
    let mut out = [&b"RIFF"[..], &(36 + bytes).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0"].concat();
    out.extend(channels.to_le_bytes());
    out.extend([rate.to_le_bytes(), (rate * u32::from(block)).to_le_bytes()].concat());
    out.extend([block.to_le_bytes(), 16u16.to_le_bytes()].concat());
    out.extend([&b"data"[..], &bytes.to_le_bytes()].concat());
    for n in 0..samples {
        let tone = (8000.0 * (f64::from(n) * 0.1).sin()) as i16;
        (0..channels).for_each(|channel| out.extend((tone / (channel + 1) as i16).to_le_bytes()));
    }
    out
}

fn corpus(name: &str) -> Folder {
    let f = Folder::new(name);
    for folder in ["in", "in/anna", "in/bert b"] {
        std::fs::create_dir(f.path(folder)).unwrap();
    }
    for (number, file) in ["in/anna/a", "in/anna/b", "in/bert b/c"].iter().enumerate() {
        f.write(&format!("{file}.wav"), wave(if number == 2 { 16000 } else { 8000 }, 1));
        f.write(&format!("{file}.txt"), format!("text {number}"));
    }
    f
}

#[test]
fn a_tree_of_folders_becomes_a_data_folder() {
    let f = corpus("tree");
    let told = run("corpus-to-data", &[&f.path("in"), &f.path("out")]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(told.stderr.contains("3 utterances (2.5 s) in, 3 utterances (2.5 s) out"), "{}", told.stderr);
    assert_eq!(f.read("out/text"), "anna-a text 0\nanna-b text 1\nbert_b-c text 2\n");
    assert_eq!(f.read("out/spk2utt"), "anna anna-a anna-b\nbert_b bert_b-c\n");
    // The recording with the higher rate is brought down to that of the others.
    assert!(
        f.read("out/wav.scp").contains("bert_b-c sound-to-wav --sample-frequency=8000 '"),
        "{}",
        f.read("out/wav.scp")
    );
    let lengths = output(&f, "wav-to-duration scp:@out/wav.scp ark,t:-");
    assert_eq!(lengths, "anna-a 1 anna-b 1 bert_b-c 0.5");
}

#[test]
fn losses_are_an_error_that_names_reasons_unless_they_are_allowed() {
    let f = corpus("losses");
    f.write("in/anna/d.wav", wave(8000, 1));
    f.write("in/anna/b.txt", "");
    let words = [
        "2 of 4 utterances (50.0 %; 2.0 s) would be lost",
        "d.wav: there is no text for it",
        "b.txt: the text is empty",
        "--skip-bad=true",
    ];
    fails(&f, 255, "corpus-to-data @in @out", &words);
    assert!(!std::path::Path::new(&f.path("out")).exists());
    fails(
        &f,
        0,
        "corpus-to-data --skip-bad=true --faults=@faults @in @out",
        &["2 lost (2.0 s): 1 recording without a text, 1 empty text"],
    );
    assert_eq!(f.read("out/text"), "anna-a text 0\nbert_b-c text 2\n");
    assert_eq!(f.read("faults").lines().count(), 3);
    fails(&f, 255, "corpus-to-data --sample-frequency=16000 @in @o2", &["fewer than 16000"]);
}

#[test]
fn options_choose_speakers_and_refuse_nonsense() {
    let f = corpus("options");
    output(&f, "corpus-to-data --speakers=one --num-threads=2 @in @out");
    assert_eq!(f.read("out/spk2utt"), "speaker speaker-a speaker-b speaker-c\n");
    for (line, word) in [
        ("corpus-to-data --speakers=field:0 @in @o", "field:"),
        ("corpus-to-data --speakers=/no/file @in @o", "expected folder, folder:N"),
        ("corpus-to-data --tiers=a*b* @in @o", "at most one '*'"),
        ("corpus-to-data --channels=each @in @o", "expected first, mix"),
        ("corpus-to-data --channels=3 @in @o", "has no channel 3"),
        ("corpus-to-data --sample-frequency=5 @in @o", "expected 0, or a rate from 1000"),
        ("corpus-to-data --utt2spk=x @in @o", "beside --text only"),
        ("corpus-to-data --num-threads=0 @in @o", "--num-threads=0"),
        ("corpus-to-data @none @o", "none"),
    ] {
        fails(&f, 255, line, &[word]);
    }
    f.write("text", "a one\nb two\nc three\n");
    output(&f, "corpus-to-data --text=@text @in @keyed");
    assert_eq!(f.read("keyed/text"), "a one\nb two\nc three\n");
    output(&f, "corpus-to-data @keyed @again");
    assert_eq!(f.read("again/wav.scp"), f.read("keyed/wav.scp"));
}

#[test]
fn recordings_become_waves_with_one_channel() {
    let f = Folder::new("waves");
    f.write("two.wav", wave(16000, 2));
    output(&f, "sound-to-wav --channels=2 @two.wav @one.wav");
    f.write(
        "scp",
        format!(
            "a {}\nb sound-to-wav --channels=mix --sample-frequency=8000 {} - |\n",
            f.path("one.wav"),
            f.path("two.wav")
        ),
    );
    let headers = output(&f, "wav-to-duration --read-entire-file=true --format=json scp:@scp ark:-");
    assert!(headers.contains("\"duration\":0.5,\"sample-rate\":16000,\"channels\":1"), "{headers}");
    assert!(headers.contains("\"sample-rate\":8000"), "{headers}");
    fails(&f, 255, "sound-to-wav --channels=3 @two.wav @x.wav", &["no channel 3"]);
    f.write("empty.wav", "");
    fails(&f, 255, "sound-to-wav @empty.wav @x.wav", &["empty.wav"]);
}

#[test]
fn unknown_words_stay_or_cost_their_utterances() {
    let f = corpus("unknown");
    f.write("lexicon", "text T\n0 Z\n1 W\n");
    let arguments = [f.path("in"), f.path("out")];
    let [from, to] = [&arguments[0], &arguments[1]];
    let (lexicon, stamps) =
        (format!("--lexicon={}", f.path("lexicon")), format!("--stamps={}", f.path("stamps")));
    let told = run("corpus-to-data", &[&lexicon, &stamps, from, to]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(f.read("out/text").contains("bert_b-c text 2\n"));
    let stamps: Vec<Vec<String>> =
        f.read("stamps").lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
    let changed = |file: &str| {
        let time = std::fs::metadata(f.path(file)).unwrap().modified().unwrap();
        time.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos().to_string()
    };
    assert_eq!(stamps[2], ["bert_b-c", "16044", &changed("in/bert b/c.wav"), "16000", "0.500"]);
    let told = run("corpus-to-data", &[&lexicon, "--lose-unknown=true", "--skip-bad=true", from, to]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(told.stderr.contains("1 text with words that the lexicon lacks"), "{}", told.stderr);
    assert_eq!(f.read("out/text"), "anna-a text 0\nanna-b text 1\n");
}

#[test]
fn garbage_sounds_are_waves_that_depend_on_the_seed() {
    let f = corpus("garbage");
    assert_eq!(run("corpus-to-data", &[&f.path("in"), &f.path("data")]).status, 0);
    let make = |out: &str, options: &[&str]| {
        let [data, out] = [f.path("data"), f.path(out)];
        let all: Vec<&str> = options.iter().copied().chain([data.as_str(), out.as_str()]).collect();
        run("garbage-sounds", &all)
    };
    let told = make("a", &["--sample-frequency=8000", "--srand=1"]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(told.stderr.contains("8 sounds"), "{}", told.stderr);
    assert_eq!(make("b", &["--sample-frequency=8000", "--srand=1", "--num-threads=3"]).status, 0);
    assert_eq!(make("c", &["--sample-frequency=8000", "--srand=2"]).status, 0);
    let bytes =
        |folder: &str, number| std::fs::read(f.path(&format!("{folder}/garbage-0000{number}.wav"))).unwrap();
    for number in 0..8 {
        assert_eq!(bytes("a", number), bytes("b", number));
        assert_ne!(bytes("a", number), bytes("c", number));
    }
    f.write("scp", format!("x {}\n", f.path("a/garbage-00003.wav")));
    let length = output(&f, "wav-to-duration scp:@scp ark,t:-");
    let expected = f.read("a/utt2dur").lines().nth(3).unwrap().replace("garbage-00003 ", "");
    assert!(length.starts_with("x "));
    let near: f64 = length[2..].parse::<f64>().unwrap() - expected.parse::<f64>().unwrap();
    assert!(near.abs() < 0.001, "{length} {expected}");
    let told = make("d", &["--sample-frequency=5"]);
    assert_eq!(told.status, 255);
}
