//! Trees of folders.

use kaldi_corpus::textgrid::{Form, Interval, TextGrid, Tier};
use kaldi_corpus::{Options, SpeakerRule};

use crate::support::{Folder, faults, utterances};

type Texts<'t> = &'t [(f64, f64, &'t str)];

fn grid(tiers: &[(&str, Texts)]) -> String {
    let tiers = tiers.iter().map(|(name, intervals)| {
        let intervals =
            intervals.iter().map(|&(begin, end, text)| Interval { begin, end, text: text.to_owned() });
        Tier::of_intervals(*name, intervals, 1.0)
    });
    TextGrid { begin: 0.0, end: 1.0, tiers: tiers.collect() }.to_text(Form::Long)
}

#[test]
fn texts_beside_sound_with_folders_as_speakers() {
    let folder = Folder::new();
    folder.waves(&["anna/a 1.wav", "anna/a2.WAV", "bert-b/x.wav", "bert-b/wav/a2.wav", "alone.wav"]);
    folder.put("anna/a 1.lab", "Hello\nthere\n");
    folder.put("anna/a2.txt", b"\xff\xfeh\0i\0");
    folder.put("bert-b/x.txt", "so");
    folder.put("bert-b/wav/a2.txt", "yes");
    folder.put("alone.txt", "no");
    folder.put("README.txt", "about");
    let corpus = folder.read("", &Options::default());
    assert_eq!(
        utterances(&corpus),
        [
            "alone alone all no",
            "anna-a2 anna all hi",
            "anna-a_1 anna all Hello there",
            "bert_b-bert-b-wav-a2 bert_b all yes",
            "bert_b-x bert_b all so",
        ]
    );
    assert_eq!(faults(&corpus), ["TextWithoutSound 0"]);
    assert_eq!(corpus.rates().into_iter().collect::<Vec<_>>(), [(8000, 5)]);
    // Utterances are in the order of their speakers.
    let speakers: Vec<&str> = corpus.utterances.iter().map(|u| u.speaker.as_str()).collect();
    assert!(speakers.is_sorted());
    let by_name = Options { speakers: SpeakerRule::Prefix(1), ..Options::default() };
    let corpus = folder.read("", &by_name);
    assert_eq!(corpus.speakers().keys().copied().collect::<Vec<_>>(), ["a", "x"]);
}

#[test]
fn each_loss_is_a_fault_and_counts() {
    let folder = Folder::new();
    folder.waves(&["a.wav", "b.wav", "c.wav", "d.wav", "e.wav"]);
    folder.put("a.txt", "fine");
    folder.put("b.txt", " \n");
    folder.put("c.txt", b"caf\xe9");
    folder.put("x.txt", "no sound");
    folder.put("f.wav", "RIFFnonsense");
    folder.put("f.txt", "unreadable");
    folder.put("g.wav", "");
    folder.put("e.TextGrid", grid(&[("phones", &[(0.0, 0.5, "a")])]));
    let corpus = folder.read("", &Options::default());
    assert_eq!(utterances(&corpus), ["a a all fine"]);
    assert_eq!(
        faults(&corpus),
        [
            "AlignerOutput 1",
            "EmptyText 1",
            "SoundWithoutText 1",
            "TextWithoutSound 1",
            "UnreadableSound 1",
            "UnreadableSound 1",
            "UnreadableText 1"
        ]
    );
    let counts = corpus.counts();
    assert_eq!((counts.found.utterances, counts.kept.utterances, counts.all_lost().utterances), (8, 1, 7));
    assert!((counts.share_lost() - 7.0 / 8.0).abs() < 1e-9);
    // (Seconds of the recordings that could be read.)
    assert!((counts.found.seconds - 5.00125).abs() < 1e-4, "{counts}");
    let unreadable = corpus.faults.iter().find(|fault| fault.place.ends_with("f.txt")).unwrap();
    assert!(unreadable.sentence.contains("f.wav cannot be used"), "{unreadable}");
    std::fs::remove_file(folder.path("a.txt")).unwrap();
    let error = folder.fails("", &Options::default());
    assert!(error.contains("no utterance can be used") && error.contains("1 empty text"), "{error}");
}

#[test]
fn tiers_are_speakers_and_spans_are_checked() {
    let folder = Folder::new();
    folder.waves(&["talk.wav", "gap.wav"]);
    folder.put(
        "talk.TextGrid",
        grid(&[("Anna", &[(0.0, 0.4, "one two"), (0.5, 0.75, "three")]), ("Bert", &[(0.375, 0.6, "no")])]),
    );
    folder.put("talk.txt", "another text");
    folder.put("gap.TextGrid", grid(&[("utterances", &[(0.25, 0.5, "x")])]));
    let corpus = folder.read("", &Options::default());
    assert_eq!(
        utterances(&corpus),
        [
            "Anna-talk-0000000-0000040 Anna 0-0.4 one two",
            "Anna-talk-0000050-0000075 Anna 0.5-0.75 three",
            "Bert-talk-0000038-0000060 Bert 0.375-0.6 no",
            "gap-0000025-0000050 gap 0.25-0.5 x",
        ]
    );
    assert_eq!(faults(&corpus), ["Overlap 0", "Overlap 0", "SeveralTexts 0"]);
    let long = TextGrid::parse(&grid(&[("Anna", &[(0.0, 0.4, "a")])])).unwrap();
    let tier =
        |begin, end| Tier::of_intervals("Anna", [Interval { begin, end, text: "late".to_owned() }], 9.0);
    folder.put(
        "gap.TextGrid",
        TextGrid { tiers: vec![tier(0.5, 1.3), tier(3.0, 4.0), tier(0.5, 1.6)], ..long }.to_text(Form::Short),
    );
    let corpus = folder.read("", &Options::default());
    let gap: Vec<String> = utterances(&corpus).into_iter().filter(|line| line.contains("gap")).collect();
    assert_eq!(gap, ["Anna-gap-0000050-0000100 Anna 0.5-1.000125 late"]);
    assert_eq!(corpus.counts().lost[&kaldi_corpus::Kind::BeyondEnd].utterances, 2);
}

/// An interval of Anna from 0 to 0.5 s and an empty one, as Praat 6.1.38 saves them as a binary file.
const BINARY: &[u8] =
    b"ooBinaryFile\x08TextGrid\0\0\0\0\0\0\0\0?\xf0\0\0\0\0\0\0\x01\0\0\0\x01\x0cIntervalTier\0\x04Anna\
    \0\0\0\0\0\0\0\0?\xf0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0?\xe0\0\0\0\0\0\0\xff\xff\0\x02\0\xe0\x20\x22\
    ?\xe0\0\0\0\0\0\0?\xf0\0\0\0\0\0\0\0\0";

#[test]
fn text_grids_of_the_binary_form() {
    let folder = Folder::new();
    folder.waves(&["a.wav", "b.wav"]);
    folder.put("a.TextGrid", BINARY);
    folder.put("b.TextGrid", &BINARY[..BINARY.len() - 1]);
    let corpus = folder.read("", &Options::default());
    assert_eq!(utterances(&corpus), ["Anna-a-0000000-0000050 Anna 0-0.5 à•"]);
    assert_eq!(faults(&corpus), ["UnreadableText 1"]);
}

const EAF: &str = r#"<ANNOTATION_DOCUMENT><HEADER TIME_UNITS="milliseconds">
    <MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/x/film.mpg" RELATIVE_MEDIA_URL="./film.mpg"/>
    <MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/x/my%20sound.wav" RELATIVE_MEDIA_URL="../sound/my%20sound.wav" TIME_ORIGIN="100"/></HEADER>
  <TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="200"/><TIME_SLOT TIME_SLOT_ID="t2" TIME_VALUE="500"/></TIME_ORDER>
  <TIER TIER_ID="A_Transcript" PARTICIPANT="Maria K"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2">
    <ANNOTATION_VALUE>di kaai</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>
  <TIER TIER_ID="gloss" PARENT_REF="A_Transcript"><ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a2" ANNOTATION_REF="a1">
    <ANNOTATION_VALUE>the man</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER></ANNOTATION_DOCUMENT>"#;

#[test]
fn elans_files_name_their_recording_and_their_speakers() {
    let folder = Folder::new();
    folder.waves(&["sound/my sound.wav", "sound/other.wav"]);
    folder.put("elan/session.eaf", EAF);
    folder.put("sound/other.txt", "yes");
    let corpus = folder.read("", &Options::default());
    assert_eq!(
        utterances(&corpus),
        ["Maria_K-my_sound-0000030-0000060 Maria_K 0.30000000000000004-0.6 di kaai", "other other all yes"]
    );
    assert_eq!(faults(&corpus), ["IgnoredTiers 0"]);
    let gloss = Options { tiers: "gloss".parse().unwrap(), ..Options::default() };
    let corpus = folder.read("", &gloss);
    assert_eq!(corpus.utterances[0].text, "the man");
}

#[test]
fn a_name_of_a_tier_that_no_file_has_is_an_error() {
    let folder = Folder::new();
    folder.waves(&["a.wav", "b.wav"]);
    folder.put("a.TextGrid", grid(&[("Anna", &[(0.1, 0.4, "yes")]), ("Bert", &[(0.5, 0.9, "no")])]));
    folder.put("b.TextGrid", grid(&[("Anna", &[(0.1, 0.4, "one")])]));
    let named = |tiers: &str| Options { tiers: tiers.parse().unwrap(), ..Options::default() };
    assert_eq!(folder.read("", &named("Anna,Bert")).utterances.len(), 3);
    assert_eq!(folder.read("", &named("A*,Bert")).utterances.len(), 3);
    let error = folder.fails("", &named("Anna,Bret"));
    assert!(
        error.starts_with("`tiers`=Anna,Bret: no file has a text in a tier 'Bret' (")
            && error.contains("not used: the tiers 'Bert'"),
        "{error}"
    );
}

#[test]
fn lists_within_a_tree_have_a_line_for_each_recording() {
    let folder = Folder::new();
    folder.waves(&["84/121123/84-121123-0000.wav", "84/121123/84-121123-0001.wav"]);
    folder.put(
        "84/121123/84-121123.trans.txt",
        "84-121123-0000 GO DO YOU HEAR\n84-121123-0001 BUT\n84-121123-0002 LOST\n",
    );
    let corpus = folder.read("", &Options::default());
    assert_eq!(
        utterances(&corpus),
        [
            "84_121123-84-121123-0000 84_121123 all GO DO YOU HEAR",
            "84_121123-84-121123-0001 84_121123 all BUT"
        ]
    );
    assert_eq!(faults(&corpus), ["TextWithoutSound 1"]);
    let first = Options { speakers: "folder:1".parse().unwrap(), ..Options::default() };
    assert_eq!(folder.read("", &first).utterances[0].id, "84-121123-0000");
}

#[test]
fn other_endings_of_texts_can_be_named() {
    let folder = Folder::new();
    folder.waves(&["a.wav", "b.wav"]);
    folder.put("a.mb.cleaned", "kyéma");
    folder.put("a.mb", "Kyéma!");
    folder.put("b.mb.cleaned", "ωndω");
    let options = Options { text_extensions: vec![".mb.cleaned".to_owned()], ..Options::default() };
    let corpus = folder.read("", &options);
    assert_eq!(utterances(&corpus), ["a a all kyéma", "b b all ωndω"]);
    let said = folder.fails("", &Options::default());
    assert!(said.contains("recordings without a text"));
    assert!(
        said.contains("expected .TextGrid, .eaf, .lab or .txt beside it, found .mb and .mb.cleaned"),
        "{said}"
    );
    assert!(said.contains("--text-extension=mb takes such files"), "{said}");
}

#[test]
fn results_have_the_paths_of_recordings_below_the_corpus() {
    let folder = Folder::new();
    folder.waves(&["anna b/p q.wav", "r.wav"]);
    folder.put("anna b/p q.txt", "yes");
    folder.put("r.txt", "no");
    let paths = |corpus: &kaldi_corpus::Corpus| {
        let mut paths: Vec<String> =
            corpus.recordings.iter().map(|recording| recording.path.join("/")).collect();
        paths.sort();
        paths
    };
    let corpus = folder.read("", &Options::default());
    assert_eq!(paths(&corpus), ["anna b/p q", "r"]);
    // A table elsewhere names recordings outside of its folder: they have keys.
    let from = corpus.recordings.iter().map(|recording| recording.source.to_string());
    let rows: String = from.map(|file| format!("{file},yes\n")).collect();
    folder.put("tables/t.csv", format!("file,text\n{rows}"));
    let corpus = folder.read("tables/t.csv", &Options::default());
    assert_eq!(paths(&corpus), ["p_q", "r"]);
}

#[test]
fn names_that_differ_in_capitals_only_have_a_hint() {
    let folder = Folder::new();
    folder.waves(&["a.wav", "rec5.wav", "rec6.wav"]);
    folder.put("a.txt", "fine");
    folder.put("Rec5.txt", "so");
    folder.put("other.txt", "so");
    folder.put("all.trans.txt", "REC6 no\na yes\n");
    let corpus = folder.read("", &Options::default());
    let hints: Vec<&str> = corpus
        .faults
        .iter()
        .filter(|fault| fault.sentence.contains("rec5.wav differs in capitals only"))
        .map(|fault| fault.place.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(hints, ["Rec5.txt"]);
    let listed = |fault: &&kaldi_corpus::Fault| fault.sentence.contains("rec6.wav differs in capitals only");
    assert_eq!(corpus.faults.iter().filter(listed).count(), 1, "{:?}", corpus.faults);
    // Keys of lists, too.
    folder.put("texts", "a fine\nRec5 so\nx no\n");
    let (sound, text) = (folder.path(""), folder.path("texts"));
    let corpus =
        kaldi_corpus::read(&kaldi_corpus::Input::Listed { sound, text, speakers: None }, &Options::default());
    let corpus = corpus.unwrap();
    let hints: Vec<&str> = corpus
        .faults
        .iter()
        .map(|fault| fault.sentence.as_str())
        .filter(|sentence| sentence.contains("in capitals only"))
        .collect();
    assert!(hints.len() == 1 && hints[0].contains("'rec5' differs"), "{hints:?}");
}

#[test]
fn a_folder_with_nothing_but_a_table_has_the_hint_to_give_the_table() {
    let folder = Folder::new();
    folder.put("list.csv", "file,text\n/elsewhere/a.wav,yes\n");
    let error = folder.fails("", &Options::default());
    assert!(error.contains("found no file with the ending of a sound"), "{error}");
    assert!(error.contains("list.csv itself"), "{error}");
    folder.put("list.csv", "");
    assert!(!folder.fails("", &Options::default()).contains("itself"));
}

#[test]
fn recordings_that_are_speakers_for_want_of_a_name_are_counted() {
    let folder = Folder::new();
    folder.waves(&["a.wav", "b.wav", "anna/c.wav", "wav/d.wav"]);
    for name in ["a", "b", "anna/c", "wav/d"] {
        folder.put(&format!("{name}.txt"), "yes");
    }
    assert_eq!(folder.read("", &Options::default()).own_speakers, 3);
    for speakers in [SpeakerRule::File, SpeakerRule::One] {
        assert_eq!(folder.read("", &Options { speakers, ..Options::default() }).own_speakers, 0);
    }
}
