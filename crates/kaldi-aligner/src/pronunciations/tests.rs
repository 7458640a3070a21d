use super::*;

fn entry(word: &str, phones: &[&str]) -> Entry {
    let phones = phones.iter().map(|phone| (*phone).to_owned()).collect();
    Entry { word: word.to_owned(), probability: 1.0, silence: None, phones }
}

fn corpus(text: &str) -> Corpus {
    let utterance = kaldi_corpus::Utterance {
        id: "u".to_owned(),
        recording: 0,
        span: None,
        speaker: "s".to_owned(),
        text: text.to_owned(),
        place: "u.txt".to_owned(),
    };
    Corpus { utterances: vec![utterance], ..Corpus::default() }
}

fn symbols(names: &[&str]) -> Symbols {
    let mut phones = Symbols::new("phones.txt");
    for name in names {
        phones.number_or_add(name);
    }
    phones
}

#[test]
fn words_with_phones_that_the_model_lacks_are_unknown_and_other_pronunciations_stay() {
    let entries = vec![
        entry("ab", &["a", "b"]),
        entry("ax", &["a", "x"]),
        entry("ba", &["b", "a"]),
        entry("ba", &["b", "x"]),
        entry("<unk>", &["SPN"]),
    ];
    let phones = symbols(&["<eps>", "SIL", "a", "b"]);
    let limited = || {
        let mut all = Pronunciations::of_lexicon(Lexicon::new("lexicon", entries.clone())).unwrap();
        all.limit(&phones);
        all
    };
    let all = limited();
    assert_eq!(all.unusable("ax").as_deref(), Some("the model lacks the phone 'x'"));
    assert!(all.words.has("ax") && all.unusable("ab").is_none() && all.unusable("ba").is_none());
    let of = |unknown, text| {
        let mut all = limited();
        all.complete(&corpus(text), unknown).map(|()| all.lexicon.entries)
    };
    let spoken = of(Unknown::Spoken, "ab ax ba").unwrap();
    let words: Vec<&str> = spoken.iter().map(|entry| entry.word.as_str()).collect();
    assert_eq!(words, ["<unk>", "ab", "ba"]);
    let by_letters = of(Unknown::Letters, "ab ax").unwrap();
    assert!(by_letters.contains(&entry("ax", &["a"])), "{by_letters:?}");
    let error = of(Unknown::Spoken, "ax").unwrap_err().to_string();
    assert!(error.ends_with("for 'ax', the model lacks the phone 'x'"), "{error}");
}

#[test]
fn words_of_letters_that_the_model_lacks_are_unknown() {
    let mut all = Pronunciations::new(Source::Letters).unwrap();
    all.limit(&symbols(&["<eps>", "SIL", "a", "b"]));
    assert!(all.unusable("ab").is_none() && all.unusable("axb").is_some());
    let mut by_letters = all.clone();
    all.complete(&corpus("ab axb"), Unknown::Spoken).unwrap();
    assert!(!all.has("axb") && all.is_any_speech("axb") && !all.is_any_speech("ab"));
    by_letters.complete(&corpus("ab axb"), Unknown::Letters).unwrap();
    let shortened = by_letters.shortened(&corpus("ab axb"));
    assert_eq!(shortened, [("axb".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
    assert!(by_letters.lexicon.entries.contains(&entry("axb", &["a", "b"])));
}

#[test]
fn phones_are_looked_for_at_their_place_in_the_word() {
    let entries = vec![entry("ab", &["a", "b"]), entry("ba", &["b", "a"])];
    let mut all = Pronunciations::of_lexicon(Lexicon::new("lexicon", entries)).unwrap();
    all.limit(&symbols(&["<eps>", "SIL", "a_B", "b_E", "b_B"]));
    assert!(all.unusable("ab").is_none());
    assert_eq!(all.unusable("ba").as_deref(), Some("the model lacks the phone 'a'"));
}

#[test]
fn groups_of_letters_are_one_phone() {
    let mut all = Pronunciations::new(Source::Letters).unwrap();
    let set = |all: &mut Pronunciations, groups: &[&str]| {
        all.set_digraphs(&groups.iter().map(|group| (*group).to_owned()).collect::<Vec<_>>())
    };
    set(&mut all, &["ng", "NGB", "mb", "c\u{2019}h", "ng'", "e\u{301}a"]).unwrap();
    assert_eq!(all.letters("ngbambang"), ["ngb", "a", "mb", "a", "ng"]);
    // Apostrophes belong to a group only if it has them.
    assert_eq!(all.letters("ang'a n'ga c'hoar"), ["a", "ng'", "a", "n", "g", "a", "c'h", "o", "a", "r"]);
    // Marks count, in both forms of Unicode.
    assert_eq!(all.letters("éae\u{301}aea"), ["éa", "éa", "e", "a"]);
    for (groups, found) in [(["ng", "n"], "'n'"), (["ng", "e\u{301}"], "'e\u{301}'"), (["ng", "n'"], "'n''")]
    {
        let error = set(&mut all, &groups).unwrap_err().to_string();
        assert!(error.starts_with("`digraphs`=ng,") && error.contains(found), "{error}");
    }
    let entries = vec![entry("ab", &["a", "b"])];
    let mut listed = Pronunciations::of_lexicon(Lexicon::new("lexicon", entries)).unwrap();
    assert!(set(&mut listed, &["ng"]).is_err());
    all.limit(&symbols(&["<eps>", "SIL", "a", "ng"]));
    assert_eq!(all.unusable("ngamba").as_deref(), Some("the model lacks the phone 'mb'"));
    assert!(all.unusable("anga").is_none());
}

#[test]
fn groups_of_letters_are_those_of_the_model_unless_others_are_given() {
    let model =
        symbols(&["<eps>", "SIL", "sil", "spn", "a_B", "a_I", "ng_I", "ng_E", "mb_B", "\u{e1}_E", "AA_B"]);
    let mut all = Pronunciations::new(Source::Letters).unwrap();
    all.limit(&model);
    assert_eq!(all.digraphs(), ["mb", "ng"]);
    assert_eq!(all.letters("mbang\u{e1}"), ["mb", "a", "ng", "\u{e1}"]);
    let mut own = Pronunciations::new(Source::Letters).unwrap();
    own.set_digraphs(&["nd".to_owned()]).unwrap();
    own.limit(&model);
    assert_eq!(own.digraphs(), ["nd"]);
    let mut listed = Pronunciations::of_lexicon(Lexicon::new("lexicon", vec![entry("a", &["a"])])).unwrap();
    listed.limit(&model);
    assert_eq!(listed.digraphs(), [""; 0]);
}

#[test]
fn phones_may_be_in_another_form_of_unicode_than_those_of_the_model() {
    for (of_model, of_lexicon) in [("\u{e1}", "a\u{301}"), ("a\u{301}", "\u{e1}"), ("a\u{301}", "a\u{301}")] {
        let entries = vec![entry("x", &[of_lexicon, "b"])];
        let mut all = Pronunciations::of_lexicon(Lexicon::new("lexicon", entries)).unwrap();
        all.limit(&symbols(&["<eps>", "SIL", of_model, "b"]));
        assert_eq!(all.unusable("x"), None);
        assert_eq!(all.lexicon.entries[0].phones, [of_model, "b"]);
    }
}

#[test]
fn a_model_or_a_lexicon_of_another_language_has_a_warning() {
    let missing = |word: &str| Missing {
        word: word.to_owned(),
        count: 1,
        utterances: 1,
        place: String::new(),
        remark: String::new(),
    };
    let entries = vec![entry("ab", &["a", "b"]), entry("cd", &["c", "d"])];
    let mut all = Pronunciations::of_lexicon(Lexicon::new("lexicon", entries.clone())).unwrap();
    let texts = corpus("ab cd x y");
    let warning = |all: &Pronunciations, missing: &[Missing]| all.warning_of_language(&texts, missing);
    assert_eq!(warning(&all, &[missing("x"), missing("y")]), None);
    let told = warning(&all, &[missing("x"), missing("y"), missing("cd")]).unwrap();
    assert!(told.starts_with("the lexicon lacks 3 of the 4 words"), "{told}");
    all.limit(&symbols(&["<eps>", "SIL", "a_B", "b_E", "d_E"]));
    assert_eq!(warning(&all, &[]), None);
    let mut other = Pronunciations::of_lexicon(Lexicon::new("lexicon", entries)).unwrap();
    other.limit(&symbols(&["<eps>", "SIL", "a_B", "b_E"]));
    let told = warning(&other, &[]).unwrap();
    assert!(told.starts_with("the model lacks 2 of the 4 phones of the lexicon (c d)"), "{told}");
    let mut letters = Pronunciations::new(Source::Letters).unwrap();
    letters.limit(&symbols(&["<eps>", "SIL", "a", "b", "c", "d"]));
    let told = warning(&letters, &[]).unwrap();
    assert!(told.starts_with("the model lacks 2 of the 6 phones of the lexicon (x y)"), "{told}");
}

#[test]
fn letters_keep_their_marks() {
    let letters = |word: &str| Pronunciations::new(Source::Letters).unwrap().letters(word);
    assert_eq!(letters("kye\u{301}ma"), ["k", "y", "é", "m", "a"]);
    assert_eq!(letters("ω\u{301}'nd"), ["ώ", "n", "d"]);
    assert_eq!(letters("\u{155}\u{329}-"), ["\u{155}\u{329}"]);
}
