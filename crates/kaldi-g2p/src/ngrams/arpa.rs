//! Models of graphones as ARPA files, whose words are the names of graphones.

use kaldi_fst::store::Symbols;
use kaldi_graph::arpa::{ArpaOptions, Event, Ngram, NgramConsumer, UnknownWords, Words, Wrong, read_arpa};
use kaldi_io::{KaldiReader, KaldiWriter};

use super::{BEGIN, END, FIRST, Ngrams};
use crate::error::{Error, Result};
use crate::graphone::{Inventory, Spelled};

const BEGIN_NAME: &str = "<s>";
const END_NAME: &str = "</s>";
/// Larger logarithms of probabilities and backoff weights are nonsense.
const MOST_LOG_PROB: f32 = 1e-3;
const MOST_BACKOFF: f32 = super::MOST_BACKOFF + 1.0;

/// Writes an ARPA file. Logarithms have five digits after the point.
///
/// # Errors
/// The file cannot be written.
pub fn write(ngrams: &Ngrams, inventory: &Inventory, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
    let mut names = vec![END_NAME.to_owned(), BEGIN_NAME.to_owned()];
    names.extend((0..inventory.len() as u32).map(|number| inventory.spelled(number).symbol()));
    w.write_str("\\data\\\n")?;
    for (order, size) in (1..).zip(ngrams.sizes()) {
        w.write_str(&format!("ngram {order}={size}\n"))?;
    }
    let decimal = |logarithm: f32| {
        let decimal = logarithm / std::f32::consts::LN_10;
        // -99 of a file comes back as -99, in spite of the other base in between.
        if decimal < -98.999 { -99.0 } else { decimal }
    };
    let mut histories = vec![String::new()];
    for level in 1..=ngrams.order() {
        w.write_str(&format!("\n\\{level}-grams:\n"))?;
        let mut longer = Vec::new();
        for (history, parent) in histories.iter().zip(ngrams.levels[level - 1]..) {
            for node in ngrams.children(parent as u32) {
                let name = format!("{history}{}", names[ngrams.tokens[node] as usize]);
                let line = format!("{:.5}\t{name}", decimal(ngrams.log_probs[node]));
                w.write_str(&line)?;
                if level < ngrams.order() && ngrams.is_history(node as u32) {
                    w.write_str(&format!("\t{:.5}", decimal(ngrams.backoffs[node])))?;
                }
                w.write_str("\n")?;
                longer.push(name + " ");
            }
        }
        histories = longer;
    }
    w.write_str("\n\\end\\\n")
}

/// N-grams of one order: their words one behind the other, and both logarithms of each.
#[derive(Default)]
struct Section {
    words: Vec<i32>,
    numbers: Vec<(f32, f32)>,
}

#[derive(Default)]
struct Collected(Vec<Section>);

impl NgramConsumer for Collected {
    fn header(&mut self, counts: &[i32], _: &Words) {
        self.0.resize_with(counts.len(), Section::default);
    }

    fn ngram(&mut self, ngram: &Ngram, _: bool) -> std::result::Result<(), Wrong> {
        if ngram.log_prob > MOST_LOG_PROB || ngram.backoff > MOST_BACKOFF {
            return Err(Wrong::Error("the probability or the backoff weight is too large".to_owned()));
        }
        let section = &mut self.0[ngram.words.len() - 1];
        section.words.extend_from_slice(&ngram.words);
        section.numbers.push((ngram.log_prob.min(0.0), ngram.backoff.min(super::MOST_BACKOFF)));
        Ok(())
    }
}

/// Reads an ARPA file to its end.
///
/// # Errors
/// The file is no ARPA file, a word is no graphone, or an n-gram has no history in the file or comes twice.
pub fn read(r: &mut KaldiReader) -> Result<(Ngrams, Inventory)> {
    let name = r.name().to_owned();
    let mut symbols = Symbols::new(&name);
    symbols.number_or_add("<eps>");
    let mut number = |symbol| symbols.number_or_add(symbol) as i32;
    let (begin, end) = (number(BEGIN_NAME), number(END_NAME));
    let words = Words::Symbols(symbols, UnknownWords::Add);
    let mut options = ArpaOptions { words, begin, end, most_warnings: Some(1) };
    let mut collected = Collected::default();
    let mut warning = None;
    read_arpa(r, &mut options, &mut collected, &mut |event| {
        if let Event::Warning(text) | Event::ManyWarnings(text) = event {
            warning.get_or_insert(text);
        }
    })?;
    if let Some(warning) = warning {
        return Err(Error::data(format!("{name}: {warning}")));
    }
    let Words::Symbols(symbols, _) = options.words else {
        return Err(Error::data(format!("{name}: there are no graphones")));
    };
    let (inventory, tokens) = tokens_of(&name, &symbols, begin, end)?;
    let ngrams = tree(collected.0, &tokens, FIRST as usize + inventory.len());
    Ok((ngrams.map_err(|why| Error::data(format!("{name}: {why}")))?, inventory))
}

/// Returns the graphones, and the token of each word of the file.
fn tokens_of(name: &str, symbols: &Symbols, begin: i32, end: i32) -> Result<(Inventory, Vec<u32>)> {
    let mut spelled = Vec::new();
    for (symbol, number) in symbols.iter().skip(1) {
        if number == i64::from(begin) || number == i64::from(end) {
            continue;
        }
        let graphone = Spelled::parse(symbol).ok_or_else(|| {
            Error::data(format!(
                "{name}: expected graphones such as 'p+h=F' as the words of the language model, found '{symbol}'"
            ))
        })?;
        spelled.push((graphone, number));
    }
    spelled.sort();
    if let Some(pair) = spelled.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::data(format!("{name}: the graphone '{}' has two names", pair[0].0.symbol())));
    }
    let mut tokens = vec![END; symbols.len()];
    tokens[begin as usize] = BEGIN;
    for (token, (_, number)) in (FIRST..).zip(&spelled) {
        tokens[*number as usize] = token;
    }
    Ok((Inventory::new(spelled.into_iter().map(|(graphone, _)| graphone).collect()), tokens))
}

/// Builds the tree of n-grams.
fn tree(sections: Vec<Section>, tokens: &[u32], vocabulary: usize) -> std::result::Result<Ngrams, String> {
    let mut ngrams = Ngrams {
        tokens: vec![END],
        log_probs: vec![0.0],
        backoffs: vec![0.0],
        first_children: Vec::new(),
        levels: vec![0, 1],
        ..Ngrams::default()
    };
    let mut histories: Vec<Vec<u32>> = vec![Vec::new()];
    for (order, section) in (1..).zip(sections) {
        let words: Vec<u32> = section.words.iter().map(|&word| tokens[word as usize]).collect();
        let mut sorted: Vec<(&[u32], (f32, f32))> =
            words.chunks(order).zip(section.numbers.iter().copied()).collect();
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        if order == 1 && sorted.len() != vocabulary {
            return Err(format!(
                "expected {vocabulary} 1-grams, found {}: each graphone, <s> and </s> once",
                sorted.len()
            ));
        }
        let mut longer = sorted.iter().peekable();
        for history in &histories {
            ngrams.first_children.push(ngrams.tokens.len() as u32);
            while let Some((words, (log_prob, backoff))) =
                longer.next_if(|(words, _)| words[..order - 1] == history[..])
            {
                let token = words[order - 1];
                let children = ngrams.first_children[ngrams.first_children.len() - 1] as usize;
                if ngrams.tokens.len() > children && ngrams.tokens[ngrams.tokens.len() - 1] == token {
                    return Err(format!("an n-gram of order {order} comes twice"));
                }
                ngrams.tokens.push(token);
                ngrams.log_probs.push(*log_prob);
                ngrams.backoffs.push(*backoff);
            }
        }
        if longer.next().is_some() {
            return Err(format!(
                "an n-gram of order {order} has no n-gram of order {} for its history",
                order - 1
            ));
        }
        if sorted.is_empty() {
            return Err(format!("there are no n-grams of order {order}"));
        }
        histories = sorted.iter().map(|(words, _)| words.to_vec()).collect();
        ngrams.levels.push(ngrams.tokens.len());
    }
    let nodes = ngrams.tokens.len() as u32;
    ngrams.first_children.resize(nodes as usize + 1, nodes);
    ngrams.link();
    Ok(ngrams)
}
