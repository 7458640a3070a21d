//! Folders of languages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kaldi_fst::store::Symbols;
use kaldi_fst::{EPSILON, Fst, StateId};
use kaldi_lang::{Lang, LangOptions, Lexicon, TopologyKind};

const LEXICON: &str = "c x\nb x y\n<unk> SPN\na x\n";

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("kaldi-lang-{}-{name}", std::process::id()))
}

fn options(kind: TopologyKind) -> LangOptions {
    let silence_phones = vec!["SIL".to_owned(), "SPN".to_owned()];
    LangOptions { silence_phones, topology: kind, ..LangOptions::default() }
}

/// The files of the recogniser's first implementation, in Python.
#[test]
fn a_chain_folder_has_the_bytes_that_scripts_know() {
    let (lexicon, _) = Lexicon::parse(LEXICON, "lexicon").unwrap();
    let out = folder("chain");
    Lang::new(&lexicon, &options(TopologyKind::Chain)).unwrap().write(out.to_str().unwrap()).unwrap();
    let mut expected: BTreeMap<&str, String> = BTreeMap::new();
    let mut name = "";
    for line in include_str!("chain_folder.txt").split_inclusive('\n') {
        match line.strip_prefix("== ") {
            Some(file) => name = file.trim_end(),
            None => *expected.entry(name).or_default() += line,
        }
    }
    assert!(expected.len() > 12);
    for (name, text) in expected {
        assert_eq!(std::fs::read_to_string(out.join(name)).unwrap(), text, "{name}");
    }
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn a_folder_is_read_as_it_was_written() {
    let (lexicon, _) = Lexicon::parse(LEXICON, "lexicon").unwrap();
    let out = folder("hmm");
    let lang = Lang::new(&lexicon, &options(TopologyKind::Hmm)).unwrap();
    lang.write(out.to_str().unwrap()).unwrap();
    let read = Lang::read(out.to_str().unwrap()).unwrap();
    assert_eq!(read.l_fst(false), lang.l_fst(false));
    assert_eq!(read.l_fst(true), lang.l_fst(true));
    let parts = |lang: &Lang| {
        let Lang { silence, nonsilence, optional_silence, disambiguation, sets, roots, .. } = lang.clone();
        let rest = (
            lang.topology.clone(),
            lang.kind,
            lang.oov,
            lang.word_boundary.clone(),
            lang.extra_questions.clone(),
        );
        let pronunciations: Vec<_> =
            lang.pronunciations.iter().map(|of| (of.word, of.phones.clone())).collect();
        (silence, nonsilence, optional_silence, disambiguation, sets, roots, rest, pronunciations)
    };
    assert_eq!(parts(&read), parts(&lang));
    assert_eq!(lang.base_phone(lang.nonsilence[1]), "x");
    std::fs::remove_dir_all(out).unwrap();
}

/// The probability of a sequence of phones and words by all paths of an L.
fn probability(fst: &Fst, phones: &[i32], words: &[i32]) -> f64 {
    let mut sum = 0.0;
    let mut paths: Vec<(StateId, usize, usize, f64)> = vec![(fst.start.unwrap(), 0, 0, 1.0)];
    while let Some((state, p, w, probability)) = paths.pop() {
        if p == phones.len() && w == words.len() {
            sum += probability * f64::from(-fst.state(state).final_weight).exp();
        }
        for arc in &fst.state(state).arcs {
            let takes = |label: i32, list: &[i32], at: usize| match label {
                EPSILON => Some(at),
                _ => (list.get(at) == Some(&label)).then_some(at + 1),
            };
            if let (Some(p), Some(w)) = (takes(arc.ilabel, phones, p), takes(arc.olabel, words, w)) {
                paths.push((arc.next, p, w, probability * f64::from(-arc.weight).exp()));
            }
        }
    }
    sum
}

#[test]
fn silence_has_the_probabilities_of_the_words_around_it() {
    let text = "a 0.5 0.2 1.5 0.8 x\na 1.0 0.6 0.5 1.25 y\nb 1.0 z\n";
    let (lexicon, _) = Lexicon::parse(text, "lexicon").unwrap();
    let options = LangOptions { silence_probability: 0.3, word_positions: false, ..LangOptions::default() };
    let lang = Lang::new(&lexicon, &options).unwrap();
    let fst = lang.l_fst(false);
    let phones = |names: &str| -> Vec<i32> {
        names.split(' ').map(|name| lang.phones.number(name).unwrap() as i32).collect()
    };
    let words = [lang.word("a"), lang.word("b"), lang.word("a")];
    // Beginning, a by x, silence after it, b after silence, no silence after it, a by y without silence before, the end.
    let plain = probability(&fst, &phones("x SIL z y"), &words);
    let expected = 0.7 * (0.5 * 0.8) * 0.2 * 1.0 * 0.7 * (1.0 * 1.25) * 0.4;
    assert!((plain - expected).abs() < 1e-6, "{plain} {expected}");
    let begun = probability(&fst, &phones("SIL x z SIL y SIL"), &words);
    let expected = 0.3 * (0.5 * 1.5) * 0.8 * 1.0 * 0.3 * (1.0 * 0.5) * 0.6;
    assert!((begun - expected).abs() < 1e-6, "{begun} {expected}");
}

#[test]
fn phones_of_a_model_keep_their_numbers() {
    let (lexicon, _) = Lexicon::parse(LEXICON, "lexicon").unwrap();
    let lang = Lang::new(&lexicon, &options(TopologyKind::Hmm)).unwrap();
    let (other, _) = Lexicon::parse("new y x y\na x\n", "other").unwrap();
    let for_model =
        Lang::for_phones(&other, &lang.phones, "phones.txt", &options(TopologyKind::Hmm)).unwrap();
    let number = |name: &str| lang.phones.number(name).unwrap() as i32;
    let expected = [vec![number("x_S")], vec![number("y_B"), number("x_I"), number("y_E")]];
    let found: Vec<Vec<i32>> = for_model.pronunciations.iter().map(|of| of.phones.clone()).collect();
    assert_eq!(found, expected);
    assert_eq!((for_model.silence.clone(), for_model.optional_silence), (lang.silence.clone(), 1));
    let (unknown, _) = Lexicon::parse("q z\n", "other").unwrap();
    let error =
        Lang::for_phones(&unknown, &lang.phones, "phones.txt", &options(TopologyKind::Hmm)).unwrap_err();
    assert_eq!(error.to_string(), "other: the word 'q' has the phone 'z', which phones.txt does not have");
    // A published model may have a phone at some places of words only.
    let mut some = Symbols::new("phones.txt");
    for (number, name) in ["<eps>", "SIL", "z_B", "z_E"].into_iter().enumerate() {
        some.add(name, number as i64).unwrap();
    }
    let error = Lang::for_phones(&unknown, &some, "phones.txt", &options(TopologyKind::Hmm)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "other: the word 'q' has the phone 'z', which phones.txt does not have at this place of a word ('z_S')"
    );
}
