//! Kaldi's data folders, read and written; recordings and texts by key.

use std::fs;

use kaldi_corpus::{Input, Options, Recording, read, write};

use crate::support::{Folder, faults, utterances};

fn name(recording: &Recording) -> String {
    recording.source.rxfilename()
}

#[test]
fn keys_speakers_and_segments_stay() {
    let folder = Folder::new();
    folder.waves(&["w/r1.wav", "w/r2.wav"]);
    let (r1, r2) = (folder.path("w/r1.wav"), folder.path("w/r2.wav"));
    folder.put("data/wav.scp", format!("r1 {}\nr2 cat {} |\nr3 /no/such.wav\n", r1.display(), r2.display()));
    folder.put("data/segments", "s-1 r1 0.0 0.5\ns-2 r1 0.5 1.4\ns-3 r2 0.25 0.75\ns-4 r3 0 1\ns-5 r9 0 1\ns-6 r1 x 1\ns-7 r1 0 0.25\n");
    folder.put("data/text", "s-1 one\ns-2 two  words\ns-3 three\ns-4 four\ns-5 five\ns-6 six\ns-8 eight\n");
    folder.put("data/utt2spk", "s-1 s-p\ns-2 s-p\ns-3 t\n");
    let corpus = folder.read("data", &Options::default());
    assert_eq!(
        utterances(&corpus),
        ["s-1 s-p 0-0.5 one", "s-2 s-p 0.5-1 two words", "s-3 t 0.25-0.75 three"]
    );
    assert_eq!(
        faults(&corpus),
        [
            "BadSpan 1",
            "SoundWithoutText 1",
            "SpanCut 0",
            "TextWithoutSound 1",
            "TextWithoutSound 1",
            "UnreadableSound 0",
            "UnreadableSound 1"
        ]
    );
    let out = folder.path("out");
    write::data_folder(&corpus, &out, name).unwrap();
    let text = |file: &str| fs::read_to_string(out.join(file)).unwrap();
    assert_eq!(text("segments"), "s-1 r1 0.000 0.500\ns-2 r1 0.500 1.000\ns-3 r2 0.250 0.750\n");
    assert_eq!(text("spk2utt"), "s-p s-1 s-2\nt s-3\n");
    assert_eq!(text("wav.scp"), format!("r1 {}\nr2 cat {} |\n", r1.display(), r2.display()));
    assert_eq!(text("utt2dur"), "s-1 0.500\ns-2 0.500\ns-3 0.500\n");
    assert_eq!(utterances(&folder.read("out", &Options::default())), utterances(&corpus));
}

#[test]
fn an_utterance_that_utt2spk_lacks_is_a_loss_and_no_new_speaker() {
    let folder = Folder::new();
    folder.waves(&["w/a.wav", "w/b.wav"]);
    let (a, b) = (folder.path("w/a.wav"), folder.path("w/b.wav"));
    folder.put("data/wav.scp", format!("x-a {}\nx-b {}\n", a.display(), b.display()));
    folder.put("data/text", "x-a one\nx-b two\n");
    folder.put("data/utt2spk", "x-a x\n");
    let corpus = folder.read("data", &Options::default());
    assert_eq!(utterances(&corpus), ["x-a x all one"]);
    assert_eq!(faults(&corpus), ["BadName 1"]);
    assert!(corpus.faults[0].sentence.contains("utt2spk has no line for 'x-b'"), "{}", corpus.faults[0]);
    // Recordings and texts by key, with a file of speakers, likewise.
    folder.put("text", "a one\nb two\n");
    folder.put("speakers", "b x\n");
    let input = Input::Listed {
        sound: folder.path("w"),
        text: folder.path("text"),
        speakers: Some(folder.path("speakers")),
    };
    let corpus = read(&input, &Options::default()).unwrap();
    assert_eq!(
        (utterances(&corpus), faults(&corpus)),
        (vec!["b x all two".to_owned()], vec!["BadName 1".to_owned()])
    );
    // Another rule needs no line.
    let rule = Options { speakers: "one".parse().unwrap(), ..Options::default() };
    assert_eq!(folder.read("data", &rule).utterances.len(), 2);
}

#[test]
fn a_written_folder_is_whole_and_replaces_no_other_files() {
    let folder = Folder::new();
    folder.waves(&["a/x.wav", "b/y.wav"]);
    folder.put("a/x.txt", "one");
    folder.put("b/y.txt", "two");
    let corpus = folder.read("", &Options::default());
    let out = folder.path("out");
    write::data_folder(&corpus, &out, name).unwrap();
    assert_eq!(fs::read_to_string(out.join("text")).unwrap(), "a-x one\nb-y two\n");
    assert_eq!(fs::read_to_string(out.join("utt2spk")).unwrap(), "a-x a\nb-y b\n");
    assert!(fs::read_to_string(out.join("wav.scp")).unwrap().starts_with("a-x /"));
    assert!(!out.join("segments").exists());
    write::data_folder(&corpus, &out, name).unwrap();
    folder.put("out/mine.txt", "keep");
    let error = write::data_folder(&corpus, &out, name).unwrap_err().to_string();
    assert!(error.contains("other files (mine.txt)"), "{error}");
    assert_eq!(fs::read_to_string(out.join("mine.txt")).unwrap(), "keep");
    let left = fs::read_dir(folder.path(""))
        .unwrap()
        .filter(|e| e.as_ref().unwrap().file_name().as_encoded_bytes()[0] == b'.');
    assert_eq!(left.count(), 0);
}

#[test]
fn recordings_and_texts_meet_by_key() {
    let folder = Folder::new();
    folder.waves(&["w/deep/a.wav", "w/b.wav", "w/c.wav", "w/d d.wav"]);
    folder.put("text", "a one\nb two\nb three\nx four\n");
    folder.put("utt2spk", "a Anna\nb Ben\n");
    let input = Input::Listed {
        sound: folder.path("w"),
        text: folder.path("text"),
        speakers: Some(folder.path("utt2spk")),
    };
    let corpus = read(&input, &Options::default()).unwrap();
    assert_eq!(utterances(&corpus), ["a Anna all one", "b Ben all two"]);
    assert_eq!(faults(&corpus), ["BadName 1", "Duplicate 1", "SoundWithoutText 1", "TextWithoutSound 1"]);
    // Files with the same keys once more, as sphinx has them.
    folder.put("t.transcription", "<s> one </s> (a)\n<s> two </s> (b)\n");
    let input =
        Input::Listed { sound: folder.path("w"), text: folder.path("t.transcription"), speakers: None };
    assert_eq!(read(&input, &Options::default()).unwrap().utterances.len(), 2);
}

#[test]
fn a_data_folder_without_texts_is_refused() {
    let folder = Folder::new();
    folder.put("data/wav.scp", "a b\n");
    assert!(folder.fails("data", &Options::default()).contains("expected a file 'text'"));
}
