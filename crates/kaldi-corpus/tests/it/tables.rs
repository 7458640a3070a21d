//! Tables of recordings.

use kaldi_corpus::Options;

use crate::support::{Folder, faults, utterances};

#[test]
fn ljspeechs_metadata_lies_above_its_waves() {
    let folder = Folder::new();
    folder.waves(&["wavs/LJ001-0001.wav", "wavs/LJ001-0002.wav", "wavs/LJ001-0003.wav"]);
    folder.put(
        "metadata.csv",
        "LJ001-0001|In 1 day, \"so\"|In one day, \"so\"\nLJ001-0002|in being|\nLJ001-0009|a b|\n",
    );
    for name in ["metadata.csv", ""] {
        let corpus = folder.read(name, &Options::default());
        assert_eq!(
            utterances(&corpus),
            ["LJ001_0001 LJ001_0001 all In one day, \"so\"", "LJ001_0002 LJ001_0002 all in being"]
        );
        assert_eq!(faults(&corpus), ["TextWithoutSound 1"]);
    }
}

#[test]
fn common_voices_table_has_speakers_and_its_clips() {
    let folder = Folder::new();
    folder.waves(&["clips/c1.wav", "clips/c2.wav"]);
    let (a, b) = ("0123456789abcdef".repeat(8), "0123456789abcdee".repeat(8));
    let rows = format!(
        "client_id\tpath\tsentence\tage\n{a}\tc1.wav\tIt's \"so\".\t\n{b}\tc2.wav\tNo\t\n{b}\tc2.wav\tNo\t\n"
    );
    folder.put("dev.tsv", &rows);
    let corpus = folder.read("dev.tsv", &Options::default());
    assert_eq!(
        utterances(&corpus),
        [
            "0123456789abcdee-c2 0123456789abcdee all No",
            "0123456789abcdef-c1 0123456789abcdef all It's \"so\"."
        ]
    );
    assert_eq!(faults(&corpus), ["Duplicate 1"]);
    folder.put("train.tsv", &rows);
    let error = folder.fails("", &Options::default());
    assert!(error.contains("expected one table, found dev.tsv, train.tsv"), "{error}");
}

#[test]
fn rows_may_be_parts_of_a_recording() {
    let folder = Folder::new();
    folder.waves(&["a.wav"]);
    folder.put(
        "t.csv",
        "\u{feff}Start,End,Text,Speaker,File\n0.1,0.5,\"one, two\",Anna B,/other/machine/a.wav\n0.5,x,no,Bert,a.wav\n0.5,0.25,no,Bert,a.wav\n0.5,0.9,three,Bert,a\n\n",
    );
    let corpus = folder.read("t.csv", &Options::default());
    assert_eq!(
        utterances(&corpus),
        ["Anna_B-a-0000010-0000050 Anna_B 0.1-0.5 one, two", "Bert-a-0000050-0000090 Bert 0.5-0.9 three"]
    );
    assert_eq!(corpus.recordings.len(), 1);
    assert_eq!(faults(&corpus), ["BadSpan 1", "BadSpan 1", "FoundElsewhere 0"]);
    assert!(corpus.utterances[0].place.ends_with("t.csv, line 2"));
}

#[test]
fn files_that_are_no_tables_are_refused() {
    let folder = Folder::new();
    folder.waves(&["a.wav"]);
    folder.put("t.csv", "just some words\nof a text\n");
    let error = folder.fails("t.csv", &Options::default());
    assert!(error.contains("line 1") && error.contains("expected a header"), "{error}");
    folder.put("e.csv", "");
    assert!(folder.fails("e.csv", &Options::default()).contains("the file is empty"));
    assert!(folder.fails("a.wav", &Options::default()).contains("found one recording"));
    assert!(folder.fails("none", &Options::default()).contains("none"));
}
