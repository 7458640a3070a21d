//! Tables of n-grams: round trips through acceptors, and mixtures compared with sums of probabilities.

use kaldi_fst::FlatFst;
use kaldi_fst::ops::{self, Side};
use kaldi_fst::store::{FlatOrNgrams, Names};
use kaldi_io::{KaldiReader, KaldiWriter};

use super::*;

const FIRST: &str = "\\data\\\nngram 1=5\nngram 2=5\nngram 3=2\n\n\\1-grams:\n-99\t<s>\t-0.30103\n-0.69897\t</s>\n\
    -0.39794\ta\t-0.2218487\n-0.69897\tb\t-0.30103\n-0.69897\tc\n\n\\2-grams:\n-0.30103\t<s> a\t-0.1\n-0.5\ta b\t-0.2\n\
    -0.6\ta </s>\n-0.7\tb a\n-0.8\tb c\n\n\\3-grams:\n-0.2\t<s> a b\n-0.3\ta b c\n\n\\end\\\n";
const SECOND: &str = "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t-0.4\n-0.60206\t</s>\n-0.30103\ta\t-0.5\n\
    -0.60206\tnew\t-0.1\n\n\\2-grams:\n-0.2\t<s> new\n-0.3\tnew a\n\n\\end\\\n";

fn model(text: &str, vocabulary: &mut Vocabulary) -> BackoffModel {
    let mut r = KaldiReader::from_bytes("lm", text.as_bytes().to_vec());
    BackoffModel::from_arpa(&mut r, vocabulary, &mut |event| {
        assert!(!matches!(event, Event::Warning(_)), "{event:?}");
    })
    .unwrap()
}

fn written(model: &BackoffModel, vocabulary: &Vocabulary) -> String {
    let mut w = KaldiWriter::in_memory(false);
    model.write_arpa(&mut w, vocabulary).unwrap();
    String::from_utf8(w.into_bytes()).unwrap()
}

/// The probability by the definition in the comment of `backoff.rs`, from the lines of the file.
fn by_definition(text: &str, words: &[&str]) -> f64 {
    let entry = |words: &[&str]| {
        let line = text.lines().find(|line| line.split('\t').nth(1) == Some(&words.join(" ")))?;
        let mut columns = line.split('\t');
        let log_prob: f64 = columns.next()?.parse().ok()?;
        Some((log_prob, columns.nth(1).map_or(0.0, |backoff| backoff.parse().unwrap())))
    };
    if let Some((log_prob, _)) = entry(words) {
        return 10f64.powf(log_prob);
    }
    if words.len() == 1 {
        return 0.0;
    }
    let backoff = entry(&words[..words.len() - 1]).map_or(0.0, |(_, backoff)| backoff);
    10f64.powf(backoff) * by_definition(text, &words[1..])
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-5 * b.max(1e-3)
}

#[test]
fn probabilities_are_those_of_the_definition() {
    let mut vocabulary = Vocabulary::default();
    let first = model(FIRST, &mut vocabulary);
    assert_eq!((first.order(), first.num_ngrams()), (3, 12));
    for history in [vec![], vec!["<s>"], vec!["a"], vec!["<s>", "a"], vec!["a", "b"], vec!["c", "a"]] {
        for word in ["a", "b", "c", "</s>"] {
            let numbers: Vec<i32> = history.iter().map(|word| vocabulary.number(word).unwrap()).collect();
            let number = vocabulary.number(word).unwrap();
            let found = f64::from(first.log_prob(&numbers, number).unwrap()).exp();
            let expected = by_definition(FIRST, &[&history[..], &[word]].concat());
            assert!(near(found, expected), "{history:?} {word}: {found} {expected}");
        }
    }
    let unknown = vocabulary.number("zebra").unwrap();
    assert_eq!(first.log_prob(&[], unknown), None);
}

#[test]
fn n_grams_of_acceptors() {
    let mut vocabulary = Vocabulary::default();
    let expected = model(FIRST, &mut vocabulary);
    let expected = written(&expected, &vocabulary);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let symbols = || {
        let mut symbols = kaldi_fst::store::Symbols::new("words");
        for name in ["<eps>", "c", "b", "a", "#0", "<s>", "</s>"] {
            symbols.number_or_add(name);
        }
        symbols
    };
    let names = Names::try_from(&symbols()).unwrap();
    let reader = || KaldiReader::from_bytes("lm", FIRST.as_bytes().to_vec());
    // Backoff arcs with #0, and without a label.
    let words = Words::Symbols(symbols(), UnknownWords::Refuse);
    let mut options = ArpaOptions { words, begin: 5, end: 6, most_warnings: None };
    let mut fst = compile(&mut reader(), &mut options, 4, &mut |_| ()).unwrap().fst;
    ops::sort_arcs(&mut fst, Side::Input);
    let plain = compile_ngrams(&mut reader(), &symbols(), None, &mut |_| ()).unwrap();
    let ngrams = ops::ngrams(&plain).unwrap();
    let acceptors = [
        FlatOrNgrams::Flat(FlatFst::from(&fst)),
        FlatOrNgrams::Flat(FlatFst::from(&plain)),
        FlatOrNgrams::Ngrams(ngrams),
    ];
    for acceptor in acceptors {
        let mut vocabulary = Vocabulary::default();
        let found = BackoffModel::from_fst(&acceptor, &names, &mut vocabulary).unwrap();
        assert_eq!(sorted(&written(&found, &vocabulary)), sorted(&expected));
    }
    fst.states[0].arcs[1].next = 0;
    let damaged = FlatOrNgrams::Flat(FlatFst::from(&fst));
    let error = BackoffModel::from_fst(&damaged, &names, &mut Vocabulary::default()).unwrap_err();
    assert!(error.to_string().contains("not an n-gram model"), "{error}");
}

/// N-grams of a mixture have the weighted sum, and probabilities behind each history sum to 1 if they do in the models.
#[test]
fn mixtures_are_weighted_sums() {
    let mut vocabulary = Vocabulary::default();
    let (first, second) = (model(FIRST, &mut vocabulary), model(SECOND, &mut vocabulary));
    let mixture = mix(&[(0.7, &first), (0.3, &second)], &vocabulary);
    let text = written(&mixture, &vocabulary);
    let again = model(&text, &mut Vocabulary::default());
    assert_eq!(again.num_ngrams(), mixture.num_ngrams());
    for line in text.lines().filter(|line| line.contains('\t') && !line.contains("\t<s>\t")) {
        let columns: Vec<&str> = line.split('\t').collect();
        let words: Vec<&str> = columns[1].split(' ').collect();
        let expected = 0.7 * by_definition(FIRST, &words) + 0.3 * by_definition(SECOND, &words);
        assert!(near(10f64.powf(columns[0].parse().unwrap()), expected), "{line}: {expected}");
    }
    // The single words of both models sum to 1, so those of the mixture do, behind histories too.
    for history in [vec![], vec!["<s>"], vec!["a"], vec!["b"], vec!["new"], vec!["<s>", "a"], vec!["a", "b"]]
    {
        let probability = |word: &&str| by_definition(&text, &[&history[..], &[*word]].concat());
        let sum: f64 = ["a", "b", "c", "new", "</s>"].iter().map(probability).sum();
        assert!((sum - 1.0).abs() < 2e-5, "{history:?}: {sum}");
    }
}

/// Positive logarithms, too few n-grams, and a symbol table of another model are told.
#[test]
fn files_that_cannot_be_right() {
    let read = |text: &str, names: &[&str], unknown: UnknownWords| {
        let mut symbols = kaldi_fst::store::Symbols::new("words");
        for name in ["<eps>", "<s>", "</s>"].iter().chain(names) {
            symbols.number_or_add(name);
        }
        let words = Words::Symbols(symbols, unknown);
        let mut options = ArpaOptions { words, begin: 1, end: 2, most_warnings: None };
        let mut warnings = Vec::new();
        let mut tell = |event| {
            if let Event::Warning(message) = event {
                warnings.push(message);
            }
        };
        let mut r = KaldiReader::from_bytes("lm", text.as_bytes().to_vec());
        let compiled = compile(&mut r, &mut options, 0, &mut tell);
        (compiled.map(|_| ()).map_err(|error| error.to_string()), warnings)
    };
    let all = ["a", "b", "c"];
    assert_eq!(read(FIRST, &all, UnknownWords::Skip), (Ok(()), vec![]));
    // Rounding is no fault; back-off weights may be above 0.
    let rounded = FIRST.replace("-0.2\t<s> a b", "1e-06\t<s> a b").replace("-0.2218487", "0.2218487");
    assert_eq!(read(&rounded, &all, UnknownWords::Skip), (Ok(()), vec![]));
    let positive = FIRST.replace("-0.39794\ta\t", "0.39794\ta\t").replace("-0.8\tb c", "0.8\tb c");
    let expected = "lm: 2 n-gram(s) have a probability above 1 (a logarithm above 0), the first one in line 9 [0.39794 a -0.2218487]";
    assert_eq!(read(&positive, &all, UnknownWords::Skip), (Ok(()), vec![expected.to_owned()]));
    let short = FIRST.replace("ngram 2=5", "ngram 2=7");
    let expected = "lm: the header says that there are 7 n-grams of order 2, found 5";
    assert_eq!(read(&short, &all, UnknownWords::Skip), (Ok(()), vec![expected.to_owned()]));
    // One word is enough; without any, the table is a wrong one.
    assert_eq!(read(FIRST, &["c"], UnknownWords::Skip).0, Ok(()));
    let (result, warnings) = read(FIRST, &["x", "y"], UnknownWords::Skip);
    let error = result.unwrap_err();
    assert!(error.starts_with("lm") && error.contains("the symbol table has none of its 3 words"), "{error}");
    assert_eq!(warnings.len(), 3);
}
