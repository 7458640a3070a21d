//! Wrong texts beside noisy ones: an utterance is aligned with texts of other utterances, too.
//!
//! A phone loop explains any sound better than a text does, and noise, clicks and unusual voices much better. If a text is not what is
//! said, then other texts of the corpus explain the sound better than it does; if it is, they do not, however bad the sound is.

use kaldi_align::Alignment;
use kaldi_align::passes::{Found, PathFinder};
use kaldi_align::phone_graph::NO_WORD;
use kaldi_lang::Lang;
use rustc_hash::FxHashSet;

use crate::listen::spoken_frames;

/// Other texts with about as many words that are tried at most.
const MOST: usize = 20;
/// Texts before and behind an utterance in the corpus that are tried first: texts are often shifted by one or two.
const NEIGHBOURS: usize = 3;

/// The distinct texts of a corpus.
pub(crate) struct Texts {
    /// All texts in the order of the corpus; empty ones for those that explain anything.
    in_order: Vec<Vec<u32>>,
    /// By the number of words; texts with as many words are in the order of the corpus.
    sorted: Vec<Vec<u32>>,
}

/// A doubtful text beside other texts.
#[derive(Debug, Clone, PartialEq)]
pub enum Beside {
    /// It explains the sound best, or was not compared.
    Best,
    /// Another text explains the sound better.
    Worse {
        /// The other text, with blanks between its words.
        text: String,
        /// The difference of the log-likelihoods, per frame of speech: above 0.
        gain: f64,
    },
    /// No other text can be aligned.
    Alone,
}

impl Texts {
    /// Takes each text once. (One with the word for unknown ones explains anything.)
    pub(crate) fn new<'t>(lang: &Lang, texts: impl Iterator<Item = &'t [u32]>) -> Texts {
        let mut known: FxHashSet<&[u32]> = FxHashSet::default();
        let is_text = |words: &&[u32]| {
            !words.is_empty() && !words.iter().any(|&word| i64::from(word) == i64::from(lang.oov))
        };
        let texts: Vec<&[u32]> = texts.collect();
        let in_order =
            texts.iter().map(|words| if is_text(words) { words.to_vec() } else { Vec::new() }).collect();
        let mut sorted: Vec<Vec<u32>> = texts
            .into_iter()
            .filter(is_text)
            .filter(|words| known.insert(words))
            .map(<[u32]>::to_vec)
            .collect();
        sorted.sort_by_key(Vec::len);
        Texts { in_order, sorted }
    }

    /// The texts of utterances beside one in the corpus, other than `words`.
    fn beside<'t>(&'t self, place: usize, words: &'t [u32]) -> impl Iterator<Item = &'t [u32]> {
        let around = self.in_order.iter().skip(place.saturating_sub(NEIGHBOURS));
        let around = around.take(place.min(NEIGHBOURS) + 1 + NEIGHBOURS).map(Vec::as_slice);
        around.filter(move |text| !text.is_empty() && *text != words)
    }

    /// Texts other than `words` with about as many words.
    fn near<'t>(&'t self, words: &'t [u32]) -> impl Iterator<Item = &'t [u32]> {
        let below = self.sorted.partition_point(|text| text.len() < words.len());
        let same = self.sorted[below..].partition_point(|text| text.len() == words.len());
        // (One more is taken, as the text itself is among them.)
        let middle = below + same / 2;
        let first = middle.saturating_sub(MOST / 2).min(self.sorted.len().saturating_sub(MOST + 1));
        let around = self.sorted[first..].iter().take(MOST + 1).map(Vec::as_slice);
        around.filter(move |text| *text != words).take(MOST)
    }

    /// Compares the text of an utterance, by its place in the corpus, with others. `get` has the log-likelihoods of frames and pdfs.
    pub(crate) fn compare(
        &self,
        finder: &mut PathFinder,
        lang: &Lang,
        (place, words, alignment): (usize, &[u32], &Alignment),
        get: impl Fn(usize, i32) -> f32,
    ) -> Beside {
        let frames = alignment.ids.len();
        let own = alignment.log_likelihood * frames as f64;
        let spoken = spoken_frames(alignment);
        let mut best: Option<(&[u32], f64)> = None;
        let mut is_alone = true;
        for other in self.beside(place, words).chain(self.near(words)) {
            // (A text that cannot be aligned explains nothing.)
            let Ok(found) = finder.find(other, frames, &get) else { continue };
            is_alone = false;
            let gain = (found.path.acoustic - own) / spoken.max(frames_of_words(&found)).max(1) as f64;
            if gain > best.map_or(0.0, |(_, most)| most) {
                best = Some((other, gain));
            }
        }
        let name = |&word: &u32| lang.words.name(word.into()).unwrap_or_default();
        match best {
            Some((words, gain)) => {
                Beside::Worse { text: words.iter().map(name).collect::<Vec<_>>().join(" "), gain }
            }
            None if is_alone => Beside::Alone,
            None => Beside::Best,
        }
    }
}

/// Frames of a path that belong to words.
fn frames_of_words(found: &Found) -> usize {
    let network = &found.network;
    let is_word = |node: &&u32| {
        let instance = network.nodes[**node as usize].instance;
        network.instances[instance as usize].word != NO_WORD
    };
    found.path.nodes.iter().filter(is_word).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_lang::LangOptions;
    use kaldi_lang::lexicon::Lexicon;

    #[test]
    fn texts_of_about_as_many_words_are_tried_and_never_the_own_one() {
        let (lexicon, _) = Lexicon::parse("<unk> SPN\na a\nb b\n", "lexicon").unwrap();
        let lang =
            Lang::new(&lexicon, &LangOptions { oov_word: "<unk>".to_owned(), ..LangOptions::default() })
                .unwrap();
        let (a, b) = (lang.word("a") as u32, lang.word("b") as u32);
        let unknown = lang.word("<unk>") as u32;
        let few = [vec![a], vec![b], vec![a], vec![], vec![unknown], vec![a, b]];
        let texts = Texts::new(&lang, few.iter().map(Vec::as_slice));
        assert_eq!(texts.near(&[a]).collect::<Vec<_>>(), [&[b][..], &[a, b]]);
        assert_eq!(texts.beside(0, &[a]).collect::<Vec<_>>(), [&[b][..]]);
        assert_eq!(texts.beside(5, &[a, b]).collect::<Vec<_>>(), [&[a][..]]);
        // All texts of 1 to 8 words.
        let all: Vec<Vec<u32>> = (1..=8_u32)
            .flat_map(|count| {
                (0..1_u32 << count)
                    .map(move |bits| (0..count).map(|n| if bits >> n & 1 == 0 { a } else { b }).collect())
            })
            .collect();
        let texts = Texts::new(&lang, all.iter().map(Vec::as_slice));
        for own in &all {
            let near: Vec<&[u32]> = texts.near(own).collect();
            assert!(near.len() == MOST && !near.contains(&own.as_slice()), "{own:?}");
            assert!(near.iter().all(|text| text.len().abs_diff(own.len()) <= 3), "{own:?} {near:?}");
        }
    }
}
