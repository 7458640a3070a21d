//! Pronunciations of new words: from a lexicon to a lexicon of others.

use crate::command_lines::{fails, output};
use crate::common::Folder;

/// Each letter is its phone, h is silent, and x is two phones.
fn lexicon(f: &Folder, words: impl Fn(&str, &str) -> String) {
    let spoken = |word: &str| {
        let phones: Vec<&str> = word
            .chars()
            .filter_map(|letter| match letter {
                'a' => Some("AA"),
                'b' => Some("B"),
                'c' => Some("K"),
                'x' => Some("K S"),
                '\u{e4}' => Some("AE"),
                _ => None,
            })
            .collect();
        phones.join(" ")
    };
    let mut text = String::new();
    for first in ["a", "ba", "ca", "ha", "\u{e4}"] {
        for middle in ["b", "c", "ha", "xa"] {
            for last in ["a", "b", "\u{e4}", "x", "hab"] {
                let word = format!("{first}{middle}{last}");
                text += &words(&word, &spoken(&word));
            }
        }
    }
    f.write("lexicon", text);
}

fn plain(name: &str) -> Folder {
    let f = Folder::new(name);
    lexicon(&f, |word, phones| format!("{word} {phones}\n"));
    f.write("words", "bax\nx\u{e4}c\n");
    f
}

#[test]
fn a_trained_model_pronounces_new_words_in_both_forms_of_lexicons() {
    let f = plain("train");
    fails(
        &f,
        0,
        "g2p-train @lexicon @model",
        &["Lexicon: 100 pronunciations", "held-out pronunciations", "Wrote the model"],
    );
    fails(&f, 0, "g2p --probabilities=false @model @words @out", &["Pronounced 2 words"]);
    assert_eq!(f.read("out"), "bax B AA K S\nx\u{e4}c K S AE K\n");
    let text = output(&f, "g2p --nbest=3 @model @words -");
    let first: Vec<&str> = text.split_whitespace().take(6).collect();
    assert_eq!([&first[..1], &first[2..]].concat(), ["bax", "B", "AA", "K", "S"]);
    let probability: f64 = first[1].parse().unwrap();
    assert!(probability > 0.5 && probability <= 1.0, "{text}");
    let best = output(&f, "g2p --nbest=3 --normalize-max=true @model @words");
    assert!(best.starts_with("bax 1 B AA K S"), "{best}");
    // An ARPA file pronounces alike.
    output(&f, "g2p-copy --binary=false @model @model.arpa");
    assert!(f.read("model.arpa").contains("x=K+S") && f.read("model.arpa").starts_with("\\data\\"));
    let same = output(&f, "g2p --probabilities=false @model.arpa @words");
    assert_eq!(same, "bax B AA K S x\u{e4}c K S AE K");
}

#[test]
fn lexicons_with_markers_and_probabilities_give_plain_phones() {
    let f = Folder::new("markers");
    lexicon(&f, |word, phones| {
        let phones: Vec<&str> = phones.split(' ').collect();
        let last = phones.len() - 1;
        let place = |(i, phone): (usize, &&str)| {
            let marker = if i == 0 && last == 0 {
                "S"
            } else if i == 0 {
                "B"
            } else if i == last {
                "E"
            } else {
                "I"
            };
            format!("{phone}_{marker}")
        };
        format!("{word} 0.5 {}\n", phones.iter().enumerate().map(place).collect::<Vec<_>>().join(" "))
    });
    f.write("words", "bax\nbaba\n");
    assert_eq!(output(&f, "g2p --lexicon=@lexicon --probabilities=false @words"), "bax B AA K S");
    let all = output(&f, "g2p --lexicon=@lexicon --copy-known=true @words");
    assert!(all.ends_with("baba 0.5 B AA B AA"), "{all}");
}

#[test]
fn the_model_of_a_lexicon_is_kept_and_only_a_model_is_replaced() {
    let f = plain("cache");
    let line = "g2p --lexicon=@lexicon --cache=@model --probabilities=false @words @out";
    fails(&f, 0, line, &["order "]);
    let model = std::fs::read(f.path("model")).unwrap();
    fails(&f, 0, line, &["The model of the lexicon is in"]);
    assert!(std::fs::read(f.path("model")).unwrap() == model);
    assert_eq!(f.read("out"), "bax B AA K S\nx\u{e4}c K S AE K\n");
    // Another lexicon: the model is learned again.
    let text = f.read("lexicon");
    f.write("lexicon", text + "bb B B\n");
    fails(&f, 0, line, &["order "]);
    assert!(std::fs::read(f.path("model")).unwrap() != model);
    // A file that is something else stays.
    f.write("model", "notes\n");
    fails(&f, 255, line, &["data"]);
    assert_eq!(f.read("model"), "notes\n");
    // Without new words there is no training, and an empty output.
    f.write("words", "baba\n\n");
    fails(&f, 0, "g2p --lexicon=@lexicon @words @out", &["Pronounced 0 words; the lexicon has 1"]);
    assert_eq!(f.read("out"), "");
}

#[test]
fn letters_that_the_model_has_never_seen_stop_the_program_or_leave_out_the_word() {
    let f = plain("letters");
    output(&f, "g2p-train --order=3 @lexicon @model");
    f.write("words", "bax\nBazz\nbaz\n");
    f.write("out", "old");
    let words = ["'Bazz' has the letter 'B'", "and 1 more word", "--skip-bad=true"];
    fails(&f, 255, "g2p @model @words @out", &words);
    assert_eq!(f.read("out"), "old");
    let words = ["'baz' has the letter 'z'", "2 of 3 words are left out"];
    fails(&f, 0, "g2p --skip-bad=true --probabilities=false @model @words @out", &words);
    assert_eq!(f.read("out"), "bax B AA K S\n");
    // Capitals and signs that the model lacks are no reason to stop.
    f.write("words", "bax\nBAX\nb-a'x\n\u{c4}ba\n");
    let words = [
        "3 words are pronounced in letters that the model has: 'BAX' as 'bax', 'b-a'x' as 'bax', '\u{c4}ba' as '\u{e4}ba'; signs that it \
         lacks are left out: ' -",
        "Pronounced 4 words",
    ];
    fails(&f, 0, "g2p --probabilities=false @model @words @out", &words);
    assert_eq!(f.read("out"), "bax B AA K S\nBAX B AA K S\nb-a'x B AA K S\n\u{c4}ba AE B AA\n");
    // A word that the lexicon has in other capitals is pronounced as there.
    f.write("words", "ABA\n");
    f.write("odd", f.read("lexicon") + "aba K\n");
    fails(&f, 0, "g2p --lexicon=@odd --probabilities=false @words @out", &["'ABA' as 'aba'"]);
    assert_eq!(f.read("out"), "ABA AA B AA\nABA K\n");
}

#[test]
fn words_that_cannot_be_aligned_are_named_and_many_of_them_are_an_error() {
    let f = plain("unaligned");
    let text = f.read("lexicon");
    let long = "w D AH B AH L Y UW\n";
    f.write("one", format!("{text}{long}<unk> SPN\n"));
    let words = ["Left out 1 pronunciation with too many phones", ": w", "of symbols and noises: <unk>"];
    fails(&f, 0, "g2p-train --left-out=@left --alignments=@ali @one @model", &words);
    assert_eq!(f.read("left"), "<unk> is a symbol, no word\nw has too many phones for its letters\n");
    assert!(f.read("ali").contains("bacx b=B a=AA c=K x=K+S\n"), "{}", f.read("ali"));
    let many = format!("{text}{long}{}{}", long.replace('w', "v"), long.replace('w', "u"));
    f.write("many", many);
    f.write("model", "old");
    let words = ["3 of 103 pronunciations", "--skip-bad", "w, v, u", "--max-phones=3"];
    fails(&f, 255, "g2p-train --max-phones=2 @many @model", &words);
    assert_eq!(f.read("model"), "old");
    fails(&f, 0, "g2p-train --max-phones=2 --skip-bad=true @many @model", &["Left out 3 pronunciations"]);
    fails(&f, 0, "g2p-train --max-phones=2 --insertions=true @many @model", &["Wrote"]);
}

#[test]
fn wrong_input_is_refused_with_the_name_of_the_fault() {
    let f = plain("wrong");
    f.write("bad", "a A\nb\n");
    fails(&f, 255, "g2p-train @bad @model", &["bad, line 2: the word 'b' has no phones"]);
    f.write("bad", "");
    fails(&f, 255, "g2p-train @bad @model", &["the lexicon is empty"]);
    for (option, why) in [
        ("--order=21", "--order=21: expected a number from 0 to 20"),
        ("--max-order=0", "--max-order=0: expected a number from 1 to 20"),
        ("--max-letters=9", "--max-letters=9: expected a number from 1 to 8"),
        ("--prune=-1", "--prune=-1: expected a number from 0"),
        ("--iterations=0", "--iterations=0: expected a number from 1 to 1000"),
    ] {
        fails(&f, 255, &format!("g2p-train {option} @lexicon @model"), &[why]);
    }
    output(&f, "g2p-train --order=2 @lexicon @model");
    for (option, why) in [
        ("--mass=2", "--mass=2: expected a number from 0 to 1"),
        ("--nbest=0", "--nbest=0: expected a number from 1"),
        ("--beam=-1", "--beam=-1: expected a number from 0"),
        ("--cache=@x", "expected --lexicon=FILE"),
        ("--copy-known=true", "expected --lexicon=FILE"),
        ("--lexicon=@lexicon", "there is no model"),
    ] {
        fails(&f, 255, &format!("g2p {option} @model @words @out"), &[why]);
    }
    fails(&f, 255, "g2p @model", &["expected a model and a file of words"]);
    fails(&f, 255, "g2p @lexicon @words", &["lexicon"]);
    f.write("words", "bax 3\n");
    fails(&f, 255, "g2p @model @words", &["words, line 1: expected one word a line, found '3' behind 'bax'"]);
}
