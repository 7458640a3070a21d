//! The phones of a given model, beside which pronunciations are seen.

use std::collections::{BTreeMap, BTreeSet};

use kaldi_fst::store::Symbols;
use kaldi_lang::lang::placed;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::letters::{is_letter, signs};

/// Phones of models that are no letters.
const NO_LETTERS: [&str; 6] = ["sil", "sp", "spn", "nsn", "lau", "oov"];

/// The phones of a model.
#[derive(Debug, Clone)]
pub(crate) struct ModelPhones {
    names: Symbols,
    /// True if phones have names of their own at the beginning, inside and at the end of words.
    have_places: bool,
}

impl ModelPhones {
    /// `names` are those of all phones of the model.
    pub fn new(names: &Symbols) -> ModelPhones {
        let have_places = names.iter().any(|(name, _)| name.ends_with("_B"));
        ModelPhones { names: names.clone(), have_places }
    }

    /// The first phone of a pronunciation that the model lacks.
    pub fn lacking<'p>(&self, phones: &'p [String]) -> Option<&'p str> {
        if phones.is_empty() {
            return None;
        }
        let here = placed(phones, self.have_places);
        let found = phones.iter().zip(&here).find(|(_, placed)| self.names.number(placed).is_none());
        found.map(|(phone, _)| phone.as_str())
    }

    /// The names of phones without the suffixes for places in words.
    fn plain(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| match name.rsplit_once('_') {
            Some((plain, "B" | "I" | "E" | "S")) if self.have_places => plain,
            _ => name,
        })
    }

    /// True if the model has the phone at any place of a word.
    pub fn has(&self, phone: &str) -> bool {
        let named = |suffix: &str| self.names.number(&format!("{phone}{suffix}")).is_some();
        ["", "_B", "_I", "_E", "_S"].into_iter().any(named)
    }

    /// The names that are not in Unicode's composed form, by that form.
    pub fn decomposed(&self) -> BTreeMap<String, &str> {
        let others = self.plain().filter(|name| !is_nfc(name));
        others.map(|name| (name.nfc().collect(), name)).collect()
    }

    /// The letters of phones that are several ones, the longest first. `silences` are no letters.
    pub fn groups(&self, silences: &[&str]) -> Vec<Vec<String>> {
        let is_sound = |name: &&str| {
            !name.starts_with(['<', '#'])
                && !NO_LETTERS.contains(name)
                && !silences.contains(name)
                && **name == name.to_lowercase()
        };
        let names: BTreeSet<&str> = self.plain().filter(is_sound).collect();
        let mut groups: Vec<Vec<String>> = names.into_iter().map(signs).collect();
        groups.retain(|signs| signs.len() > 1 && signs.iter().filter(|sign| is_letter(sign)).count() > 1);
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        groups
    }
}
