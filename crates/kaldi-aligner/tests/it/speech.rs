//! Words that are aligned by the phone for anything spoken.

use kaldi_aligner::Unknown;

use crate::sounds::Made;

#[test]
fn words_of_a_phone_without_training_are_told_and_have_no_scores() {
    let mut made = Made::new(12);
    let model = made.monophones();
    assert_eq!(model.warning_of_speech(&made.pronunciations, Unknown::Spoken, &made.corpus), None);
    made.corpus.utterances[0].text.push_str(" 12");
    made.pronunciations.limit(&model.phones);
    made.pronunciations.complete(&made.corpus, Unknown::Spoken).unwrap();
    let warning = |unknown| model.warning_of_speech(&made.pronunciations, unknown, &made.corpus).unwrap();
    // What was given is no advice.
    assert!(!warning(Unknown::G2p).contains("g2p") && !warning(Unknown::Letters).contains("=letters"));
    let warning = warning(Unknown::Spoken);
    assert!(warning.starts_with("1 word of the texts, such as '12'"), "{warning}");
    assert!(warning.contains("`unknown-words`=letters") && warning.contains("'SPN'"), "{warning}");
    let results = made.align(&model);
    let words = &results.utterances[0].as_ref().unwrap().words;
    for word in words {
        let is_known = word.text != "12";
        assert_eq!((word.is_any_speech, word.score.is_some()), (!is_known, is_known), "{word:?}");
        assert!(word.phones.iter().all(|phone| phone.score.is_some() == is_known), "{word:?}");
    }
}
