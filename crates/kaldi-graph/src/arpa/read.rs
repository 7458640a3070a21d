//! The file: how many n-grams there are of each order, then lines of n-grams order by order.

use std::f64::consts::LN_10;

use kaldi_fst::store::Symbols;
use kaldi_io::text::{parse_integer, parse_real};
use kaldi_io::{KaldiReader, Result};

/// A logarithm of a probability above this is no rounding of 0.
const CERTAIN: f32 = 1e-4;

/// So many warnings have hints at words that look like an unknown one.
const MOST_HINTS: usize = 30;

/// A line of an n-gram section.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ngram {
    /// The history and then the word.
    pub words: Vec<i32>,
    /// Natural logarithm of the probability.
    pub log_prob: f32,
    /// Natural logarithm of the back-off weight; 0 if the line has none.
    pub backoff: f32,
}

/// Treatment of words that the symbol table does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownWords {
    /// Unknown words get numbers.
    Add,
    /// Their n-grams are left out.
    Skip,
    /// Unknown words become this one.
    Replace(i32),
    /// Unknown words are errors.
    Refuse,
}

/// Form of the words in the file.
#[derive(Debug)]
pub enum Words {
    /// Numbers themselves.
    Numbers,
    Symbols(Symbols, UnknownWords),
}

#[derive(Debug)]
pub struct ArpaOptions {
    pub words: Words,
    /// The numbers of `<s>` and `</s>`.
    pub begin: i32,
    pub end: i32,
    /// Largest number of warnings; `None`: no limit.
    pub most_warnings: Option<usize>,
}

/// Events while a file is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// `\data\` has been found.
    Data,
    /// A section begins: its line.
    Section(String),
    Warning(String),
    /// A warning after all others: how many there were.
    ManyWarnings(String),
}

/// A line, for warnings.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub number: u64,
    pub text: &'a str,
}

impl std::fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "line {} [{}]", self.number, self.text)
    }
}

/// Receives the n-grams of a file.
pub trait NgramConsumer {
    /// Receives the numbers of n-grams of each order, from 1, that the file announces. `words` are the words known so
    /// far.
    fn header(&mut self, counts: &[i32], words: &Words);

    /// Takes an n-gram with known words and valid places of `<s>` and `</s>`. A fault is either a reason to skip it
    /// with a warning, or an error.
    fn ngram(&mut self, ngram: &Ngram, is_highest: bool) -> std::result::Result<(), Wrong>;
}

/// Reason why an n-gram is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    Skipped(String),
    Error(String),
}

/// Reads a file to its end. Errors name the line.
pub fn read_arpa(
    r: &mut KaldiReader,
    options: &mut ArpaOptions,
    consumer: &mut impl NgramConsumer,
    events: &mut dyn FnMut(Event),
) -> Result<()> {
    if r.at_eof()? {
        return Err(r.error("the file is empty, expected a language model in the ARPA format"));
    }
    let mut reader =
        Reader { r, options, events, number: 0, line: String::new(), warnings: 0, impossible: None };
    reader.read(consumer)
}

struct Reader<'a> {
    r: &'a mut KaldiReader,
    options: &'a mut ArpaOptions,
    events: &'a mut dyn FnMut(Event),
    number: u64,
    line: String,
    warnings: usize,
    /// The first line with a probability above 1, and how many there are.
    impossible: Option<(String, usize)>,
}

fn columns(line: &str) -> Vec<&str> {
    line.split([' ', '\t', '\r', '\n']).filter(|column| !column.is_empty()).collect()
}

impl Reader<'_> {
    fn read(&mut self, consumer: &mut impl NgramConsumer) -> Result<()> {
        let counts = self.read_counts()?;
        consumer.header(&counts, &self.options.words);
        for (order, &count) in (1..).zip(&counts) {
            if count == 0 {
                self.tell(Event::Warning(format!(
                    "Zero ngram count in ngram order {order}(look for 'ngram {order}=0' in the \\data\\  section). \
                     There is possibly a problem with the file."
                )));
            }
            let keyword = format!("\\{order}-grams:");
            if self.line != keyword {
                return Err(self.error(&format!("invalid directive, expecting '{keyword}'")));
            }
            self.tell(Event::Section(self.line.clone()));
            self.read_section(order, count, order == counts.len(), consumer)?;
        }
        if self.line != "\\end\\" {
            return Err(self.error("invalid or unexpected directive line, expecting \\end\\"));
        }
        self.sum_up_warnings();
        if let Some((first, count)) = self.impossible.take() {
            self.tell(Event::Warning(format!(
                "{}: {count} n-gram(s) have a probability above 1 (a logarithm above 0), the first one in {first}",
                self.r.name()
            )));
        }
        Ok(())
    }

    /// The next line that is not empty.
    fn next(&mut self) -> Result<bool> {
        loop {
            let Some(line) = self.r.read_line()? else {
                self.number += 1;
                return Ok(false);
            };
            self.number += 1;
            if !line.trim().is_empty() {
                self.line = line;
                return Ok(true);
            }
        }
    }

    fn tell(&mut self, event: Event) {
        (self.events)(event);
    }

    fn at(&self) -> Line<'_> {
        Line { number: self.number, text: &self.line }
    }

    fn error(&self, why: &str) -> kaldi_io::IoError {
        kaldi_io::IoError::Value(format!("{}: {}: {why}", self.r.name(), self.at()))
    }

    fn warn(&mut self, message: String) {
        self.warnings += 1;
        if self.options.most_warnings.is_none_or(|most| self.warnings <= most) {
            self.tell(Event::Warning(message));
        }
    }

    fn sum_up_warnings(&mut self) {
        if let Some(most) = self.options.most_warnings.filter(|&most| self.warnings > most) {
            let all = self.warnings;
            self.tell(Event::ManyWarnings(format!(
                "Of {all} parse warnings, {most} were reported. Run program with --max-arpa-warnings=-1 to see all \
                 warnings"
            )));
        }
    }

    /// Reads up to the first line of the first section.
    fn read_counts(&mut self) -> Result<Vec<i32>> {
        let mut counts: Vec<i32> = Vec::new();
        let mut found = false;
        while self.next()? {
            self.line.truncate(self.line.trim_end().len());
            if !found {
                found = self.line == "\\data\\";
                if found {
                    self.tell(Event::Data);
                }
                continue;
            }
            if self.line.starts_with('\\') {
                break;
            }
            match self.parse_count() {
                Some(Ok((order, count))) => {
                    counts.resize(counts.len().max(order), 0);
                    counts[order - 1] = count;
                }
                Some(Err(())) => return Err(self.error("cannot parse ngram count")),
                None => {
                    let message = format!("{}: uninterpretable line in \\data\\ section", self.at());
                    self.tell(Event::Warning(message));
                }
            }
        }
        if counts.is_empty() {
            return Err(self.error("\\data\\ section missing or empty."));
        }
        Ok(counts)
    }

    /// The two numbers of `ngram ORDER = COUNT`; `None` if the line does not look like that.
    fn parse_count(&self) -> Option<std::result::Result<(usize, i32), ()>> {
        /// Larger orders are nonsense, and their counts would take memory.
        const HIGHEST_ORDER: i32 = 1000;
        let line = self.line.replacen('=', " = ", 1);
        let columns = columns(&line);
        let ["ngram", order, "=", count] = columns[..] else { return None };
        match (parse_integer::<i32>(order), parse_integer::<i32>(count)) {
            (Some(order @ 1..=HIGHEST_ORDER), Some(count)) if count >= 0 => Some(Ok((order as usize, count))),
            _ => Some(Err(())),
        }
    }

    fn read_section(
        &mut self,
        order: usize,
        count: i32,
        is_highest: bool,
        consumer: &mut impl NgramConsumer,
    ) -> Result<()> {
        let mut ngram = Ngram::default();
        let (mut seen, mut unknown) = (0, 0);
        // (A table that the program makes, or completes, has the limits of sentences in any case.)
        let mut words_known = false;
        while self.next()? {
            if self.line.starts_with('\\') {
                self.line.truncate(self.line.trim_end().len());
                let next = format!("\\{}-grams:", order + 1);
                if self.line == next || self.line == "\\end\\" {
                    break;
                }
                let message = format!("ignoring possible directive '{}' expecting '{next}'", self.line);
                self.warn(message);
            }
            let known = self.parse(order, is_highest, &mut ngram)?;
            seen += 1;
            if seen > count {
                return Err(self.error(&format!(
                    "header said there would be {count} n-grams of order {order}, but we saw more already."
                )));
            }
            let misplaced = |(i, &word): (usize, &i32)| {
                (i > 0 && word == self.options.begin) || (i + 1 < order && word == self.options.end)
            };
            if !known {
                unknown += 1;
                continue;
            }
            words_known |=
                ngram.words.iter().any(|&word| word != self.options.begin && word != self.options.end);
            if ngram.words.iter().enumerate().any(misplaced) {
                self.warn(format!("{} skipped: n-gram has invalid BOS/EOS placement", self.at()));
                continue;
            }
            match consumer.ngram(&ngram, is_highest) {
                Ok(()) => {}
                Err(Wrong::Skipped(why)) => self.warn(format!("{} skipped: {why}", self.at())),
                Err(Wrong::Error(why)) => return Err(self.error(&why)),
            }
        }
        if order == 1 && unknown > 0 && !words_known {
            return Err(self.r.error(format!(
                "the symbol table has none of its {unknown} words; is it the table of another language model?"
            )));
        }
        if seen < count {
            self.tell(Event::Warning(format!(
                "{}: the header says that there are {count} n-grams of order {order}, found {seen}",
                self.r.name()
            )));
        }
        Ok(())
    }

    /// Returns true if all words are known.
    fn parse(&mut self, order: usize, is_highest: bool, ngram: &mut Ngram) -> Result<bool> {
        let line = std::mem::take(&mut self.line);
        let columns = columns(&line);
        let outcome = self.parse_columns(&columns, order, is_highest, ngram);
        self.line = line;
        match outcome {
            Ok(()) => Ok(true),
            Err(Wrong::Skipped(word)) => {
                self.warn(format!(
                    "{} skipped: word '{word}' not in symbol table{}",
                    self.at(),
                    self.hint(&word)
                ));
                Ok(false)
            }
            Err(Wrong::Error(why)) => Err(self.error(&why)),
        }
    }

    /// Suggests a symbol that resembles the word. It searches all symbols, so only the first warnings have suggestions.
    fn hint(&self, word: &str) -> String {
        match &self.options.words {
            Words::Symbols(symbols, _) if self.warnings < MOST_HINTS => symbols.hint(word),
            _ => String::new(),
        }
    }

    fn parse_columns(
        &mut self,
        columns: &[&str],
        order: usize,
        is_highest: bool,
        ngram: &mut Ngram,
    ) -> std::result::Result<(), Wrong> {
        let with_backoff = columns.len() == order + 2;
        if columns.len() != order + 1 && (is_highest || !with_backoff) {
            return Err(Wrong::Error("Invalid n-gram data line".to_owned()));
        }
        let natural = |what: &str, text: &str| match parse_real(text) {
            // A probability may be 0, but a cost of minus infinity is no weight of an FST.
            Some(value) if !value.is_nan() && f64::from(value as f32) * LN_10 < f64::from(f32::MAX) => {
                Ok((f64::from(value as f32) * LN_10) as f32)
            }
            _ => Err(Wrong::Error(format!("invalid {what} '{text}'"))),
        };
        ngram.log_prob = natural("n-gram logprob", columns[0])?;
        if ngram.log_prob > CERTAIN {
            let number = self.number;
            let (_, count) =
                self.impossible.get_or_insert_with(|| (format!("line {number} [{}]", columns.join(" ")), 0));
            *count += 1;
        }
        ngram.backoff = if with_backoff { natural("backoff weight", columns[order + 1])? } else { 0.0 };
        ngram.words.clear();
        for word in &columns[1..=order] {
            let number = self.number(word)?;
            if number == 0 {
                return Err(Wrong::Error(format!("epsilon symbol '{word}' is illegal in ARPA LM")));
            }
            ngram.words.push(number);
        }
        Ok(())
    }

    fn number(&mut self, word: &str) -> std::result::Result<i32, Wrong> {
        let too_large = |_| Wrong::Error(format!("the number of word '{word}' is too large"));
        match &mut self.options.words {
            Words::Numbers => match parse_integer(word) {
                Some(number) if number >= 0 => Ok(number),
                _ => Err(Wrong::Error(format!("invalid symbol '{word}': integers are expected for words"))),
            },
            Words::Symbols(symbols, UnknownWords::Add) => {
                i32::try_from(symbols.number_or_add(word)).map_err(too_large)
            }
            Words::Symbols(symbols, unknown) => match (symbols.number(word), *unknown) {
                (Some(number), _) => i32::try_from(number).map_err(too_large),
                (None, UnknownWords::Replace(number)) => Ok(number),
                (None, UnknownWords::Skip) => Err(Wrong::Skipped(word.to_owned())),
                (None, _) => {
                    Err(Wrong::Error(format!("word '{word}' not in symbol table{}", symbols.hint(word))))
                }
            },
        }
    }
}
