//! The conversion of an ARPA file into a language model in one array.

use kaldi_graph::arpa::{ArpaOptions, Event, Ngram, NgramConsumer, Words, Wrong, read_arpa};
use kaldi_io::{KaldiReader, Result};

use super::{Builder, ConstArpa};

struct Consumer {
    begin: i32,
    end: i32,
    unknown: Option<i32>,
    builder: Option<Builder>,
}

impl NgramConsumer for Consumer {
    fn header(&mut self, counts: &[i32], _: &Words) {
        self.builder = Some(Builder::new(self.begin, self.end, self.unknown, counts.len()));
    }

    fn ngram(&mut self, ngram: &Ngram, _: bool) -> std::result::Result<(), Wrong> {
        match &mut self.builder {
            Some(builder) => builder.add(&ngram.words, ngram.log_prob, ngram.backoff),
            None => Ok(()),
        }
        .map_err(|e| Wrong::Error(e.to_string()))
    }
}

impl ConstArpa {
    /// Reads an ARPA file with numbers for words.
    pub fn from_arpa(
        r: &mut KaldiReader,
        options: &mut ArpaOptions,
        unknown: Option<i32>,
        events: &mut dyn FnMut(Event),
    ) -> Result<ConstArpa> {
        let (begin, end) = (options.begin, options.end);
        let mut consumer = Consumer { begin, end, unknown, builder: None };
        read_arpa(r, options, &mut consumer, events)?;
        let builder = consumer.builder.ok_or_else(|| r.error("expected n-grams"))?;
        builder.build().map_err(|e| r.error(e.to_string()))
    }
}
