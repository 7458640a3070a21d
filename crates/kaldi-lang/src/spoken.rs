//! Transcripts as phones, for phone language models before there are alignments.

use std::collections::HashMap;

pub use fastrand::Rng;

use crate::error::{Error, Result};
use crate::plain_text::{self, fields, lines};

/// Probabilities of silence in utterances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Silences {
    /// Before the first and behind the last word.
    pub at_edges: f64,
    /// Between two words.
    pub between_words: f64,
}

/// A pronunciation with its weight.
type Form = (f64, Vec<String>);

/// The pronunciations of words in a lang folder of a chain model.
#[derive(Debug, Clone)]
pub struct Spoken {
    words: HashMap<String, Vec<Form>>,
    silence: String,
}

impl Spoken {
    /// Reads `phones.txt` and, in `phones/`, `align_lexicon.txt` and `optional_silence.txt`. Phones become numbers.
    ///
    /// # Errors
    /// A file cannot be read, or a line of the lexicon has no probability or an unknown phone.
    pub fn read(folder: &str) -> Result<Spoken> {
        let file = |name: &str| format!("{folder}/{name}");
        let symbols = plain_text::read(&file("phones.txt"))?;
        let numbers: HashMap<&str, &str> = lines(&symbols)
            .filter_map(|(_, line)| match fields(line)[..] {
                [name, number] => Some((name, number)),
                _ => None,
            })
            .collect();
        let number = |phone: &str| numbers.get(phone).map(|&number| number.to_owned());
        let name = file("phones/align_lexicon.txt");
        let text = plain_text::read(&name)?;
        let mut words: HashMap<String, Vec<Form>> = HashMap::new();
        for (line, content) in lines(&text) {
            let columns = fields(content);
            let probability = columns.get(1).and_then(|column| column.parse::<f64>().ok());
            let (Some(probability), true) = (probability, columns.len() > 2) else {
                let problem = format!("expected a word, its probability and phones, found '{content}'");
                return Err(Error::line(&name, line, problem));
            };
            let mut phones = Vec::with_capacity(columns.len() - 2);
            for phone in &columns[2..] {
                phones.push(number(phone).ok_or_else(|| {
                    Error::line(&name, line, format!("phones.txt does not have the phone '{phone}'"))
                })?);
            }
            words.entry(columns[0].to_owned()).or_default().push((probability, phones));
        }
        let name = file("phones/optional_silence.txt");
        let silence = plain_text::read(&name)?;
        let silence = number(silence.trim())
            .ok_or_else(|| Error::file(&name, format!("phones.txt does not have '{}'", silence.trim())))?;
        Ok(Spoken { words, silence })
    }

    /// Draws phones for words, as numbers with blanks between them. Pronunciations are drawn by their probabilities.
    ///
    /// # Errors
    /// The lexicon lacks a word; the error is a clause that names it.
    pub fn phones(
        &self,
        words: &[&str],
        silences: Silences,
        random: &mut Rng,
    ) -> std::result::Result<String, String> {
        let mut phones: Vec<&str> = Vec::new();
        if random.f64() < silences.at_edges {
            phones.push(&self.silence);
        }
        for (place, word) in words.iter().enumerate() {
            let forms =
                self.words.get(*word).ok_or_else(|| format!("the word '{word}' has no pronunciation"))?;
            phones.extend(drawn(forms, random).iter().map(String::as_str));
            let last = place + 1 == words.len();
            if random.f64() < if last { silences.at_edges } else { silences.between_words } {
                phones.push(&self.silence);
            }
        }
        Ok(phones.join(" "))
    }
}

/// A pronunciation by its probability.
fn drawn<'f>(forms: &'f [Form], random: &mut Rng) -> &'f [String] {
    let sum: f64 = forms.iter().map(|form| form.0).sum();
    let mut at = random.f64() * sum;
    for (probability, phones) in forms {
        at -= probability;
        if at < 0.0 {
            return phones;
        }
    }
    forms.last().map_or(&[], |form| &form.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pronunciations_and_silences_are_as_frequent_as_their_probabilities() {
        let form = |probability, phones: &str| (probability, phones.split(' ').map(str::to_owned).collect());
        let words = HashMap::from([
            ("a".to_owned(), vec![form(0.2, "3 4"), form(0.6, "5")]),
            ("b".to_owned(), vec![form(1.0, "6")]),
        ]);
        let spoken = Spoken { words, silence: "1".to_owned() };
        let silences = Silences { at_edges: 0.8, between_words: 0.3 };
        let mut random = Rng::with_seed(3);
        let all: Vec<String> =
            (0..4000).map(|_| spoken.phones(&["a", "b"], silences, &mut random).unwrap()).collect();
        let share = |is: &dyn Fn(&str) -> bool| all.iter().filter(|line| is(line)).count() as f64 / 4000.0;
        let near = |found: f64, expected: f64| (found - expected).abs() < 0.03;
        assert!(near(share(&|line| line.contains("3 4")), 0.25));
        assert!(near(share(&|line| line.starts_with("1 ")), 0.8));
        assert!(near(share(&|line| line.ends_with("6 1")), 0.8));
        assert!(near(share(&|line| line.contains("4 1 6") || line.contains("5 1 6")), 0.3));
        let error = spoken.phones(&["c"], silences, &mut random).unwrap_err();
        assert_eq!(error, "the word 'c' has no pronunciation");
    }
}
