//! The words of a model with another language model: those of its lexicon, and new ones in its phones.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::error::{Error, Result};
use crate::lang::{PLACES, placed};
use crate::lexicon::{RESERVED_WORDS, is_decimal};
use crate::plain_text::{self, fields, lines};

/// The name by which phrases ask for the word for all that is no word of the model, as in vosk.
pub const ANYTHING: &str = "[unk]";
/// The names that models have for it.
const NAMES_OF_ANYTHING: [&str; 3] = [ANYTHING, "<unk>", "<UNK>"];

/// A pronunciation with its probability.
pub type Form = (f64, Vec<String>);

/// Words with their pronunciations.
pub type Words = BTreeMap<String, Vec<Form>>;

/// The words and the phones of a model.
#[derive(Debug, Clone, Default)]
pub struct Old {
    /// Names of phones, with their places in words.
    names: HashSet<String>,
    /// The words with their pronunciations.
    pub words: Words,
}

impl Old {
    /// Reads a table of phones, and a lexicon with their names. `with_probabilities`: each line has one behind the word.
    ///
    /// # Errors
    /// A file cannot be read, or a line has no probability.
    pub fn read(phones: &str, lexicon: &str, with_probabilities: bool) -> Result<Old> {
        let table = plain_text::read(phones)?;
        let names = lines(&table).filter_map(|(_, line)| fields(line).first().map(|name| (*name).to_owned()));
        let names = names.filter(|name| name != "<eps>").collect();
        let text = plain_text::read(lexicon)?;
        let mut words = Words::new();
        for (number, line) in lines(&text) {
            let mut columns = fields(line).into_iter();
            let word = columns.next().unwrap_or_default();
            if RESERVED_WORDS.contains(&word) {
                continue;
            }
            let probability = match with_probabilities {
                true => columns.next().and_then(|column| column.parse().ok()).ok_or_else(|| {
                    Error::line(
                        lexicon,
                        number,
                        format!("expected a probability behind '{word}', found '{line}'"),
                    )
                })?,
                false => 1.0,
            };
            words
                .entry(word.to_owned())
                .or_default()
                .push((probability, columns.map(str::to_owned).collect()));
        }
        Ok(Old { names, words })
    }

    /// Returns the name of a word in the model: that of its word for anything else, if `[unk]` asks for it. All others keep their names.
    pub fn name_of<'w>(&self, word: &'w str) -> &'w str {
        if word != ANYTHING {
            return word;
        }
        NAMES_OF_ANYTHING.into_iter().find(|name| self.words.contains_key(*name)).unwrap_or(word)
    }

    /// Returns the phones of the model without their places in words, sorted.
    fn plain_phones(&self) -> BTreeSet<&str> {
        self.names.iter().map(|name| without_place(name)).filter(|name| !name.starts_with('#')).collect()
    }

    /// Says why a phone cannot be at its place of a word.
    fn why_not(&self, phone: &str) -> String {
        let mut places: Vec<&str> = PLACES
            .iter()
            .filter(|(suffix, _)| self.names.contains(&format!("{phone}{suffix}")))
            .map(|(_, place)| *place)
            .collect();
        if places.is_empty() {
            let all = self.plain_phones();
            let mut shown: Vec<&str> = all.iter().copied().take(MOST_PHONES).collect();
            if all.len() > shown.len() {
                shown.push("…");
            }
            return format!(
                "'{phone}' is no phone of the model, which has {} (nnet3-lexicon prints words with their phones)",
                shown.join(" ")
            );
        }
        places.sort_unstable();
        format!(
            "the model has the phone '{phone}' only at other places of a word ({}), as no word that it was trained with has it here \
             (nnet3-lexicon prints words with their phones)",
            places.join(", ")
        )
    }

    /// Returns phones as the model has them: with their places in the word, or as they are.
    ///
    /// # Errors
    /// The model lacks a phone at its place; the error is its name.
    pub fn placed(&self, phones: &[String]) -> std::result::Result<Vec<String>, String> {
        let of = |(marked, plain): (String, &String)| match (
            self.names.contains(&marked),
            self.names.contains(plain),
        ) {
            (true, _) => Ok(marked),
            (false, true) => Ok(plain.clone()),
            (false, false) => Err(plain.clone()),
        };
        placed(phones, true).into_iter().zip(phones).map(of).collect()
    }

    /// Reads pronunciations of new words, or further ones of known words, and adds them to `words`.
    ///
    /// # Errors
    /// The file cannot be read, or a line makes no sense for this model.
    pub fn add_new(&self, file: &str, words: &mut Words) -> Result<()> {
        let text = plain_text::read(file)?;
        for (number, line) in lines(&text) {
            let fail = |problem: String| Error::line(file, number, problem);
            let columns = fields(line);
            let word = columns[0];
            let mut phones = &columns[1..];
            let mut probability = 1.0;
            if phones.len() > 1 && is_decimal(phones[0]) && !self.names.contains(phones[0]) {
                probability = phones[0].replace(',', ".").parse().unwrap_or(f64::NAN);
                if !(probability > 0.0 && probability <= 1.0) {
                    let found = phones[0];
                    return Err(fail(format!(
                        "expected a probability above 0 and at most 1 behind '{word}', found '{found}'"
                    )));
                }
                phones = &phones[1..];
            }
            if RESERVED_WORDS.contains(&word) {
                return Err(fail(format!(
                    "'{word}' has a meaning of its own in graphs, and cannot be a word"
                )));
            }
            if phones.is_empty() {
                return Err(fail(format!("the word '{word}' has no pronunciation")));
            }
            let phones: Vec<String> = phones.iter().map(|&phone| phone.to_owned()).collect();
            let phones = self.placed(&phones).map_err(|phone| fail(self.why_not(&phone)))?;
            words.entry(word.to_owned()).or_default().push((probability, phones));
        }
        Ok(())
    }

    /// Returns the phones of a word from those of the fewest words of the model that make it up, one behind the other. `None`
    /// if there are no such words.
    pub fn by_parts(&self, word: &str) -> Option<Vec<String>> {
        let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        // By beginnings of the word: the number of parts, and the phones.
        let mut best: HashMap<usize, (usize, Vec<String>)> = HashMap::from([(0, (0, Vec::new()))]);
        for (place, &end) in ends.iter().enumerate().skip(1) {
            let mut found: Option<(usize, Vec<String>)> = None;
            for &begin in &ends[..place] {
                if (begin, end) == (0, word.len()) {
                    continue;
                }
                let (Some((parts, phones)), Some(forms)) =
                    (best.get(&begin), self.words.get(&word[begin..end]))
                else {
                    continue;
                };
                if found.as_ref().is_none_or(|(fewest, _)| parts + 1 < *fewest) {
                    let own = forms[0].1.iter().map(|phone| without_place(phone).to_owned());
                    found = Some((parts + 1, phones.iter().cloned().chain(own).collect()));
                }
            }
            if let Some(found) = found {
                best.insert(end, found);
            }
        }
        best.remove(&word.len()).filter(|_| !word.is_empty()).map(|(_, phones)| phones)
    }
}

/// Phones that a message lists, at most.
const MOST_PHONES: usize = 120;

fn without_place(phone: &str) -> &str {
    PLACES.iter().find_map(|(suffix, _)| phone.strip_suffix(suffix)).unwrap_or(phone)
}

/// Words of texts that `known` lacks, each once, in the order of the texts.
///
/// # Errors
/// A file cannot be read.
pub fn missing(files: &[&str], known: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for file in files {
        let text = plain_text::read(file)?;
        for word in lines(&text).flat_map(|(_, line)| fields(line)) {
            if !known(word) && !RESERVED_WORDS.contains(&word) && seen.insert(word.to_owned()) {
                found.push(word.to_owned());
            }
        }
    }
    Ok(found)
}

/// A word of sentences that has no pronunciation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The word.
    pub word: String,
    /// The number of its occurrences.
    pub count: usize,
    /// The first line with it.
    pub line: usize,
}

/// Sentences of known words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sentences {
    /// The sentences, in their order.
    pub kept: Vec<String>,
    /// The number of sentences that are left out.
    pub left_out: usize,
    /// Words for which sentences are left out, the most frequent first.
    pub unknown: Vec<Unknown>,
}

impl Sentences {
    /// Reads sentences, one a line. `named` gives a word the name that it has in the model.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(file: &str, named: impl Fn(&str) -> &str, known: impl Fn(&str) -> bool) -> Result<Sentences> {
        let text = plain_text::read(file)?;
        let mut sentences = Sentences::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (line, content) in lines(&text) {
            let words: Vec<&str> = fields(content).into_iter().map(&named).collect();
            let bad: Vec<&str> = words.iter().copied().filter(|word| !known(word)).collect();
            for word in &bad {
                let place = *places.entry((*word).to_owned()).or_insert(sentences.unknown.len());
                match sentences.unknown.get_mut(place) {
                    Some(unknown) => unknown.count += 1,
                    None => sentences.unknown.push(Unknown { word: (*word).to_owned(), count: 1, line }),
                }
            }
            if bad.is_empty() {
                sentences.kept.push(words.join(" "));
            } else {
                sentences.left_out += 1;
            }
        }
        sentences.unknown.sort_by_key(|unknown| std::cmp::Reverse(unknown.count));
        Ok(sentences)
    }
}

/// Words with a phone behind another one that the graph of the model does not have in this order. `pairs` are those orders;
/// `<eps>` and `silence` stand for the begin of a word.
pub fn with_new_pairs<'w>(
    words: &'w Words,
    pairs: &HashSet<(String, String)>,
    silence: &str,
) -> Vec<&'w str> {
    let has = |before: &str, phone: &str| pairs.contains(&(before.to_owned(), phone.to_owned()));
    let is_new = |(_, phones): &Form| {
        let before = ["<eps>"].into_iter().chain(phones.iter().map(String::as_str));
        before.zip(phones).any(|(before, phone)| has(before, phone))
            || phones.first().is_some_and(|first| has(silence, first))
    };
    words.iter().filter(|(_, forms)| forms.iter().any(is_new)).map(|(word, _)| word.as_str()).collect()
}

/// The words of an ARPA file's section of single words.
///
/// # Errors
/// The file cannot be read.
pub fn words_of_arpa(file: &str) -> Result<BTreeSet<String>> {
    let text = plain_text::read(file)?;
    let single = lines(&text).map(|(_, line)| line).skip_while(|line| *line != "\\1-grams:").skip(1);
    let single = single.take_while(|line| !line.starts_with('\\'));
    Ok(single.filter_map(|line| fields(line).get(1).map(|word| (*word).to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(phones: &str) -> Vec<Form> {
        vec![(1.0, phones.split(' ').map(str::to_owned).collect())]
    }

    fn old(words: &[(&str, &str)]) -> Old {
        let names = ["SIL", "N"].map(str::to_owned).into_iter();
        let names = names
            .chain(["D_B".to_owned()])
            .chain("ABC".chars().flat_map(|c| PLACES.map(|(suffix, _)| format!("{c}{suffix}"))));
        let words = words.iter().map(|(word, phones)| ((*word).to_owned(), form(phones))).collect();
        Old { names: names.collect(), words }
    }

    fn file(name: &str, content: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let path = path.to_str().unwrap().to_owned();
        (folder, path)
    }

    #[test]
    fn a_word_is_spoken_as_the_fewest_words_that_make_it_up() {
        let old = old(&[("ab", "A_B B_E"), ("a", "A_S"), ("b", "C_S"), ("bc", "B_B C_E"), ("é", "C_S")]);
        let parts = |word| old.by_parts(word).map(|phones| phones.join(" "));
        assert_eq!(parts("abbc").unwrap(), "A B B C");
        assert_eq!(parts("aab").unwrap(), "A A B");
        assert_eq!(parts("abx"), None);
        assert_eq!(parts("ab").unwrap(), "A C");
        assert_eq!(parts("éa").unwrap(), "C A");
    }

    #[test]
    fn new_words_are_in_the_phones_of_the_model() {
        let old = old(&[]);
        let mut words = Words::new();
        let (_folder, new) = file("new", "aa A A\nab 0.5 C\nn N\n");
        old.add_new(&new, &mut words).unwrap();
        assert_eq!(words["aa"], form("A_B A_E"));
        assert_eq!(words["ab"], [(0.5, vec!["C_S".to_owned()])]);
        assert_eq!(words["n"], form("N"));
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let pairs = HashSet::from([pair("A_B", "A_E"), pair("<eps>", "C_B"), pair("SIL", "N")]);
        assert_eq!(with_new_pairs(&words, &pairs, "SIL"), ["aa", "n"]);
        for (line, problem) in [
            ("x A Z\n", "'Z' is no phone of the model, which has A B C D N SIL ("),
            ("x A D\n", "the model has the phone 'D' only at other places of a word (begin)"),
            ("x\n", "the word 'x' has no pronunciation"),
            ("<s> A\n", "'<s>' has a meaning of its own in graphs"),
            ("x 1.5 A\n", "expected a probability above 0 and at most 1 behind 'x', found '1.5'"),
        ] {
            let (_folder, new) = file("new", line);
            let error = old.add_new(&new, &mut words).unwrap_err().to_string();
            assert!(error.contains(&format!("new, line 1: {problem}")), "{error}");
        }
    }

    #[test]
    fn anything_else_has_the_name_that_the_model_has_for_it() {
        let with = old(&[("<unk>", "N"), ("a", "A_S")]);
        assert_eq!(["[unk]", "a", "zebra"].map(|word| with.name_of(word)), ["<unk>", "a", "zebra"]);
        assert_eq!(old(&[]).name_of("[unk]"), "[unk]");
        assert_eq!(old(&[("[unk]", "N"), ("<unk>", "N")]).name_of("[unk]"), "[unk]");
        let (_folder, text) = file("phrases", "a\n[unk]\n");
        let sentences =
            Sentences::read(&text, |word| with.name_of(word), |word| with.words.contains_key(word)).unwrap();
        assert_eq!(sentences.kept, ["a", "<unk>"]);
    }

    #[test]
    fn sentences_with_unknown_words_are_counted() {
        let (_folder, text) = file("text", "a b\nb zebra\n\na yak zebra\n");
        let sentences = Sentences::read(&text, |word| word, |word| word.len() == 1).unwrap();
        assert_eq!(sentences.kept, ["a b"]);
        assert_eq!(sentences.left_out, 2);
        let unknown = |word: &str, count, line| Unknown { word: word.to_owned(), count, line };
        assert_eq!(sentences.unknown, [unknown("zebra", 2, 2), unknown("yak", 1, 4)]);
        assert_eq!(missing(&[&text], |word| word.len() == 1).unwrap(), ["zebra", "yak"]);
    }

    #[test]
    fn single_words_of_an_arpa_file() {
        let content = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <s> -0.5\n-1 one\n-1\ttwo\t-0.5\n\n\\2-grams:\n-1 one three\n\\end\\\n";
        let (_folder, arpa) = file("arpa", content);
        assert_eq!(words_of_arpa(&arpa).unwrap().into_iter().collect::<Vec<_>>(), ["<s>", "one", "two"]);
    }
}
