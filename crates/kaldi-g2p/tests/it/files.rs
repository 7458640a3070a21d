//! Files of models.

use kaldi_g2p::{Lexicon, Model, TrainOptions, train};
use kaldi_io::{KaldiReader, KaldiWriter};

const LEXICON: &str = "at AE T\nthat DH AE T\nthis DH IH S\nhat HH AE T\nhits HH IH T S\nsix S IH K S\ntax T AE K S\n\
                       a=b+ A% =+\nshe SH IY\nhash HH AE SH\n";

fn model() -> Model {
    let lexicon = Lexicon::read(&mut KaldiReader::from_bytes("lexicon", LEXICON.into()), false).unwrap();
    let mut model = train(&lexicon, &TrainOptions { order: Some(3), ..TrainOptions::default() }).unwrap().0;
    model.stamp = "stamp".to_owned();
    model
}

fn written(model: &Model, binary: bool) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    model.write(&mut w).unwrap();
    w.into_bytes()
}

fn read(bytes: Vec<u8>, binary: bool) -> Result<Model, String> {
    let mut r = KaldiReader::from_bytes("model", bytes);
    r.set_binary(binary);
    Model::read(&mut r).map_err(|error| error.to_string())
}

#[test]
fn a_binary_file_gives_the_same_model() {
    let model = model();
    assert_eq!(read(written(&model, true), true).unwrap(), model);
}

#[test]
fn an_arpa_file_gives_the_same_probabilities_and_the_same_file() {
    let model = model();
    let text = written(&model, false);
    let again = read(text.clone(), false).unwrap();
    assert_eq!(again.inventory, model.inventory);
    assert_eq!(
        (&again.ngrams.tokens, &again.ngrams.suffixes),
        (&model.ngrams.tokens, &model.ngrams.suffixes)
    );
    for (a, b) in again.ngrams.log_probs.iter().zip(&model.ngrams.log_probs) {
        assert!((a - b).abs() < 2e-5, "{a} {b}");
    }
    assert!(written(&again, false) == text);
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("\tx=K+S\t") && text.contains("%2B=A%25+%3D%2B") && text.contains("-99.00000\t<s>"),
        "{text}"
    );
}

#[test]
fn arpa_files_that_are_no_models_are_refused_with_a_reason() {
    let file = |unigrams: &str, bigrams: &str| {
        let counts = (unigrams.lines().count(), bigrams.lines().count());
        let text = format!(
            "\\data\\\nngram 1={}\nngram 2={}\n\n\\1-grams:\n{unigrams}\n\\2-grams:\n{bigrams}\n\\end\\\n",
            counts.0, counts.1
        );
        read(text.into_bytes(), false)
    };
    let good = "-99\t<s>\t-0.3\n-0.5\t</s>\n-0.2\ta=A\t-0.1\n";
    let model = file(good, "-0.1\t<s> a=A\n").unwrap();
    assert_eq!(model.pronounce("a", 1).unwrap()[0].phones, ["A"]);
    let refused = |unigrams: &str, bigrams: &str, why: &str| {
        let error = file(unigrams, bigrams).unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    refused(&good.replace("a=A", "the"), "-0.1\t<s> the\n", "expected graphones such as 'p+h=F'");
    refused(&good.replace("-99\t<s>\t-0.3\n", ""), "-0.1\t<s> a=A\n", "expected 3 1-grams, found 2");
    refused(good, "-0.1\t<s> b=B\n", "expected 4 1-grams, found 3");
    refused(good, "-0.1\t<s> a=A\n-0.2\t<s> a=A\n", "comes twice");
    refused(good, "", "");
    refused(&good.replace("-0.2", "0.2"), "-0.1\t<s> a=A\n", "is too large");
}

#[test]
fn damaged_binary_files_are_errors() {
    let bytes = written(&model(), true);
    for end in (0..bytes.len() - 1).step_by(7) {
        assert!(read(bytes[..end].to_vec(), true).is_err(), "cut at {end}");
    }
}
