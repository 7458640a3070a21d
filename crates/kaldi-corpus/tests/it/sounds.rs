//! Recordings with faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kaldi_corpus::{Check, Options};

use crate::support::{Folder, faults, utterances, wave};

fn with_texts(folder: &Folder, names: &[&str]) {
    for name in names {
        folder.put(&format!("{name}.txt"), "word");
    }
}

#[test]
fn a_header_that_promises_a_little_too_much_is_a_warning() {
    let folder = Folder::new();
    folder.put("short.wav", wave(16000, 1, 16000, 16160));
    folder.put("cut.wav", wave(16000, 1, 8000, 16000));
    folder.put("fine.wav", wave(16000, 1, 4000, 4000));
    with_texts(&folder, &["short", "cut", "fine"]);
    for check in [Check::Headers, Check::Samples] {
        let corpus = folder.read("", &Options { check, ..Options::default() });
        assert_eq!(utterances(&corpus), ["fine fine all word", "short short all word"]);
        assert_eq!(faults(&corpus), ["ShortHeader 0", "Truncated 1"], "{check:?}");
        assert_eq!(corpus.recordings[1].seconds, 1.0);
    }
    // An utterance within the part that is there is used.
    std::fs::remove_file(folder.path("cut.txt")).unwrap();
    folder.put("t.csv", "path,begin,end,text\ncut.wav,0.1,0.4,a\ncut.wav,0.4,0.9,b\ncut.wav,0.6,0.9,b\n");
    let corpus = folder.read("t.csv", &Options::default());
    assert_eq!(faults(&corpus), ["BeyondEnd 1", "ShortHeader 0", "SpanCut 0"]);
}

#[test]
fn levels_and_channels_are_seen() {
    let folder = Folder::new();
    folder.put("a.wav", wave(16000, 2, 4000, 4000));
    folder.put("copy.wav", wave(16000, 2, 4000, 4000));
    let mut zero = wave(16000, 1, 4000, 4000);
    zero[44..].fill(0);
    folder.put("zero.wav", &zero);
    let mut loud = wave(16000, 1, 4000, 4000);
    loud[44..844].chunks_mut(2).for_each(|sample| sample.copy_from_slice(&i16::MAX.to_le_bytes()));
    folder.put("loud.wav", loud);
    with_texts(&folder, &["a", "copy", "zero", "loud"]);
    let corpus = folder.read("", &Options { check: Check::Samples, threads: 3, ..Options::default() });
    assert_eq!(
        faults(&corpus),
        ["Clipping 0", "Duplicate 0", "SeveralChannels 0", "SeveralChannels 0", "Silent 1"]
    );
    let levels = corpus.recordings[2].levels.unwrap();
    assert!((levels.clipped - 0.1).abs() < 1e-3, "{levels:?}");
    assert!(levels.rms_db < -3.0 && levels.peak > 0.99);
    let names = folder.read("", &Options { check: Check::Names, ..Options::default() });
    assert_eq!((names.utterances.len(), names.faults.len()), (4, 0));
}

#[test]
fn a_name_that_programs_would_take_for_a_command_is_never_run() {
    let folder = Folder::new();
    folder.waves(&["fine.wav"]);
    with_texts(&folder, &["fine"]);
    let mark = folder.path("mark");
    folder.put("t.csv", format!("path,text\nfine.wav,a\ntouch {} |,b\n", mark.display()));
    let corpus = folder.read("t.csv", &Options::default());
    assert_eq!(faults(&corpus), ["TextWithoutSound 1"]);
    folder.waves(&["x|y.wav", "z\n.wav"]);
    with_texts(&folder, &["x|y", "z\n"]);
    let corpus = folder.read("", &Options::default());
    assert_eq!(faults(&corpus), ["BadName 1"]);
    assert!(!mark.exists());
}

#[test]
fn recordings_are_left_unopened_once_the_corpus_is_not_wanted() {
    let folder = Folder::new();
    let names = ["a", "b", "c", "d"];
    folder.waves(&names.map(|name| format!("{name}.wav")).each_ref().map(String::as_str));
    with_texts(&folder, &names);
    let left = Arc::new(AtomicUsize::new(2));
    let take = |left: usize| left.checked_sub(1);
    let is_wanted = move || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
    let options = Options { is_wanted: Some(Arc::new(is_wanted)), ..Options::default() };
    let corpus = folder.read("", &options);
    assert_eq!(utterances(&corpus), ["a a all word", "b b all word"]);
    assert_eq!(faults(&corpus), ["UnreadableSound 1", "UnreadableSound 1"]);
    assert!(corpus.faults[0].sentence.contains("it was not opened"), "{}", corpus.faults[0]);
}
