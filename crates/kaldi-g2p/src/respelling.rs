//! Words in letters that a model has: other capitals, and no signs that are no letters.

use crate::letters::letters;
use crate::model::Model;

/// A word in letters of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respelled {
    /// The word with the capitals of the model, without the signs that it lacks.
    pub spelling: String,
    /// The signs that are left out, each once, in the order of the word.
    pub left_out: Vec<String>,
}

/// Signs around noises, such as `<unk>` and `(laughs)`: such words are not spelled.
const BRACKETS: [(char, char); 4] = [('<', '>'), ('[', ']'), ('{', '}'), ('(', ')')];

impl Model {
    /// Spells a word with letters that the model knows: where it lacks a letter, the same one with other capitals; where it lacks a sign
    /// that is no letter, such as a hyphen, nothing. `None` if that changes nothing, or if a letter is missing nevertheless.
    pub fn respelled(&self, word: &str) -> Option<Respelled> {
        if BRACKETS.iter().any(|(open, close)| word.starts_with(*open) && word.ends_with(*close)) {
            return None;
        }
        let mut respelled = Respelled { spelling: String::new(), left_out: Vec::new() };
        for letter in letters(word) {
            let knows = |text: &String| letters(text).iter().all(|letter| self.has_letter(letter));
            let others = || [letter.to_lowercase(), letter.to_uppercase()].into_iter().find(knows);
            if self.has_letter(&letter) {
                respelled.spelling.push_str(&letter);
            } else if let Some(other) = others() {
                respelled.spelling.push_str(&other);
            } else if letter.chars().any(char::is_alphanumeric) {
                return None;
            } else if !respelled.left_out.contains(&letter) {
                respelled.left_out.push(letter);
            }
        }
        let is_new = letters(&respelled.spelling) != letters(word);
        (is_new && !respelled.spelling.is_empty()).then_some(respelled)
    }
}
