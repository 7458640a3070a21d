//! Learns a model from a lexicon.

use std::num::NonZero;

use rustc_hash::FxHashMap;

use crate::align::{AlignOptions, Aligned, Pair, align};
use crate::error::{Error, Result};
use crate::graphone::{Graphone, Inventory, Names, Spelled};
use crate::letters::letters;
use crate::lexicon::{Entry, Lexicon};
use crate::model::Model;
use crate::ngrams::counts::Counts;
use crate::ngrams::kneser_ney::estimate;
use crate::ngrams::{FIRST, Ngrams};
use crate::parallel;

/// Options of a training.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOptions {
    /// Limits of graphones.
    pub align: AlignOptions,
    /// Graphones in the longest n-grams; `None`: the number up to `max_order` with the largest likelihood of held-out words.
    pub order: Option<usize>,
    /// The largest order of n-grams that is tried.
    pub max_order: usize,
    /// N-grams of three and more graphones that occur less often are left out.
    pub min_count: u32,
    /// Threads that share the work; results do not depend on them.
    pub threads: NonZero<usize>,
}

impl Default for TrainOptions {
    fn default() -> Self {
        TrainOptions {
            align: AlignOptions::default(),
            order: None,
            max_order: 8,
            min_count: 1,
            threads: NonZero::<usize>::MIN,
        }
    }
}

/// Events of a training.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Words of the entries that cannot be cut into graphones.
    pub unaligned: Vec<String>,
    /// Logarithm of the probability of all entries, an iteration of the alignment each.
    pub log_likelihoods: Vec<f64>,
    /// The largest number of phones that a graphone might have.
    pub max_phones: usize,
    /// Number of different graphones.
    pub graphones: usize,
    /// Held-out entries, and their perplexity by graphones with each order. Empty if the order was given.
    pub held_out: usize,
    /// Orders of n-grams with their perplexities on held-out words.
    pub perplexities: Vec<(usize, f64)>,
    /// The order that was chosen.
    pub order: usize,
}

/// Entries as sequences of graphones.
struct Corpus {
    inventory: Inventory,
    /// Graphones of each entry that could be cut; `None` of the others.
    sequences: Vec<Option<Vec<u32>>>,
}

/// Learns a model. The result does not depend on the number of threads.
///
/// # Errors
/// No entry can be cut into graphones.
pub fn train(lexicon: &Lexicon, options: &TrainOptions) -> Result<(Model, Report)> {
    let (corpus, mut report) = cut(&lexicon.entries, &options.align)?;
    report.order = match options.order {
        Some(order) => order,
        None => choose_order(&lexicon.entries, &corpus, options, &mut report),
    };
    let ngrams = estimate_with(&corpus, report.order, options.min_count, |_| true);
    let model = Model { inventory: corpus.inventory, ngrams, stamp: String::new() };
    Ok((model, report))
}

/// Returns each entry as graphones, spelled; `None` if it cannot be cut. This is what [`train`] learns from.
///
/// # Errors
/// The lexicon is too small, or a limit of graphones makes no sense.
pub fn alignments(lexicon: &Lexicon, options: &AlignOptions) -> Result<Vec<Option<Vec<Spelled>>>> {
    let (corpus, _) = cut(&lexicon.entries, options)?;
    let spelled = |sequence: Vec<u32>| {
        sequence.into_iter().map(|token| corpus.inventory.spelled(token - FIRST)).collect()
    };
    Ok(corpus.sequences.into_iter().map(|sequence| sequence.map(spelled)).collect())
}

fn cut(entries: &[Entry], options: &AlignOptions) -> Result<(Corpus, Report)> {
    let (mut letter_names, mut phone_names) = (Names::default(), Names::default());
    let pairs: Vec<Pair> = entries
        .iter()
        .map(|entry| Pair {
            letters: letters(&entry.word).iter().map(|letter| letter_names.number_or_add(letter)).collect(),
            phones: entry.phones.iter().map(|phone| phone_names.number_or_add(phone)).collect(),
        })
        .collect();
    let Aligned { graphones, paths, log_likelihoods, max_phones, .. } = align(&pairs, options)?;
    let spelled = |graphone: &Graphone| Spelled {
        letters: letter_names.of(&graphone.letters),
        phones: phone_names.of(&graphone.phones),
    };
    let mut used = vec![false; graphones.len()];
    paths.iter().flatten().flatten().for_each(|&number| used[number as usize] = true);
    let mut all: Vec<Spelled> = graphones
        .iter()
        .zip(&used)
        .filter(|(_, used)| **used)
        .map(|(graphone, _)| spelled(graphone))
        .collect();
    if all.is_empty() {
        return Err(Error::data(
            "no word of the lexicon can be aligned with its phones: each letter has at most \
             as many phones as a graphone may have"
                .to_owned(),
        ));
    }
    let report = Report {
        unaligned: paths
            .iter()
            .zip(entries)
            .filter(|(path, _)| path.is_none())
            .map(|(_, e)| e.word.clone())
            .collect(),
        log_likelihoods,
        graphones: all.len(),
        max_phones,
        ..Report::default()
    };
    all.extend(single_letters(&all));
    let inventory = Inventory::new(all);
    let tokens: FxHashMap<Spelled, u32> =
        (0..inventory.len() as u32).map(|number| (inventory.spelled(number), number + FIRST)).collect();
    let token = |number: u32| tokens[&spelled(&graphones[number as usize])];
    let numbers: Vec<u32> = (0..graphones.len() as u32)
        .map(|number| if used[number as usize] { token(number) } else { 0 })
        .collect();
    let sequences = paths
        .into_iter()
        .map(|path| path.map(|path| path.into_iter().map(|number| numbers[number as usize]).collect()));
    Ok((Corpus { sequences: sequences.collect(), inventory }, report))
}

/// Graphones for letters that only occur together with others, so that other words may have them: silent, and with each
/// phone of their graphones.
fn single_letters(all: &[Spelled]) -> Vec<Spelled> {
    let alone: std::collections::BTreeSet<&str> = all
        .iter()
        .filter(|graphone| graphone.letters.len() == 1)
        .map(|graphone| graphone.letters[0].as_str())
        .collect();
    let mut added = Vec::new();
    for graphone in all {
        for letter in graphone.letters.iter().filter(|letter| !alone.contains(letter.as_str())) {
            let letters = vec![letter.clone()];
            added.push(Spelled { letters: letters.clone(), phones: Vec::new() });
            added.extend(
                graphone
                    .phones
                    .iter()
                    .map(|phone| Spelled { letters: letters.clone(), phones: vec![phone.clone()] }),
            );
        }
    }
    added
}

fn estimate_with(corpus: &Corpus, order: usize, min_count: u32, is_used: impl Fn(usize) -> bool) -> Ngrams {
    estimate(&counts(corpus, order, is_used), order, min_count)
}

fn counts(corpus: &Corpus, order: usize, is_used: impl Fn(usize) -> bool) -> Counts {
    let sequences = corpus.sequences.iter().enumerate().filter(|(place, _)| is_used(*place));
    let vocabulary = FIRST + corpus.inventory.len() as u32;
    Counts::new(sequences.filter_map(|(_, sequence)| sequence.as_deref()), vocabulary, order)
}

/// One word of so many is held out in lexicons of up to [`SMALL`] entries, and in larger ones.
const HELD_OUT: (u64, u64) = (10, 20);
const SMALL: usize = 20_000;
/// A higher order must have so much less perplexity.
const GAIN: f64 = 0.999;

/// Returns the order with the least perplexity of held-out words. All pronunciations of a word are held out together.
fn choose_order(entries: &[Entry], corpus: &Corpus, options: &TrainOptions, report: &mut Report) -> usize {
    let share = if entries.len() <= SMALL { HELD_OUT.0 } else { HELD_OUT.1 };
    let is_held_out = |place: usize| hash(&entries[place].word).is_multiple_of(share);
    let held_out: Vec<&[u32]> = (0..entries.len())
        .filter(|&place| is_held_out(place))
        .filter_map(|place| corpus.sequences[place].as_deref())
        .collect();
    report.held_out = held_out.len();
    let highest = options.max_order;
    if held_out.is_empty() || report.held_out == corpus.sequences.iter().flatten().count() {
        return highest.min(3);
    }
    let counts = counts(corpus, highest, |place| !is_held_out(place));
    let tokens: usize = held_out.iter().map(|sequence| sequence.len() + 1).sum();
    let perplexities = parallel::map(highest, highest, options.threads, |orders| {
        let perplexity = |order: usize| {
            let ngrams = estimate(&counts, order, options.min_count);
            let log_prob: f64 = held_out.iter().map(|sequence| ngrams.score_sequence(sequence)).sum();
            (order, (-log_prob / tokens as f64).exp())
        };
        orders.map(|order| perplexity(order + 1)).collect::<Vec<_>>()
    });
    report.perplexities = perplexities.concat();
    let mut best = report.perplexities[0];
    for &(order, perplexity) in &report.perplexities {
        if perplexity < best.1 * GAIN {
            best = (order, perplexity);
        }
    }
    best.0
}

/// FNV-1a: the same on every machine.
fn hash(word: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    // The low bits of the product mix too little.
    (hash >> 32) ^ hash
}

/// Names the lexicon and the options of a training in one token, so that a stored model can be recognised.
pub fn stamp(lexicon: &Lexicon, options: &TrainOptions) -> String {
    let mut text = String::new();
    for entry in &lexicon.entries {
        text.push_str(&entry.word);
        for phone in &entry.phones {
            text.push(' ');
            text.push_str(phone);
        }
        text.push('\n');
    }
    let TrainOptions { align, order, max_order, min_count, .. } = options;
    let AlignOptions { max_letters, max_phones, many_to_many, insertions, iterations, prune, .. } = align;
    let settings = format!(
        "{max_letters}:{max_phones:?}:{many_to_many}:{insertions}:{iterations}:{prune}:{order:?}:{max_order}:{min_count}"
    );
    format!("{:016x}-{}-{:016x}", hash(&text), lexicon.entries.len(), hash(&settings))
}
