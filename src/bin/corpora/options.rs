//! Options of programs that read a corpus.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anyhow::{Result, bail};
use kaldi_corpus::{Check, Corpus, Input, SpeakerRule, TierRule, read, report};
use kaldi_io::escape::shell_escape;
use kaldi_sound::Channels;
use nnet3::options::threads;
use nnet3::progress::Counter;
use nnet3::{messages, progress};

// Options of reading.
#[derive(clap::Args, Debug, Clone)]
pub struct CorpusArgs {
    /// Read recordings and texts with the same keys: this file has lines of a key and a text, and the corpus is a folder of
    /// recordings, whose names are the keys, or a file like Kaldi's wav.scp
    #[arg(long, value_name = "FILE", default_value = "")]
    text: String,
    /// Lines of a key and its speaker, beside --text
    #[arg(long, value_name = "FILE", default_value = "")]
    utt2spk: String,
    /// Speakers: folder or folder:N (the folder of a recording, or that at level N below the corpus), file (each recording has
    /// its own), one, prefix:N (the first N characters of the file's name), field:N (its part N between _, -, . or blanks),
    /// or a file with lines of a recording and its speaker. Without it the speaker is a tier, a column or utt2spk, if there
    /// are such; otherwise the sub-folder, and a recording without one has its own
    #[arg(long, value_name = "RULE", default_value = "", hide_default_value = true)]
    speakers: String,
    /// Endings of the texts beside the recordings, with commas between them, the preferred one first. The contents may have
    /// any of the forms
    #[arg(long, value_name = "ENDINGS", default_value = "TextGrid,eaf,lab,txt")]
    text_extension: String,
    /// Tiers of TextGrids and ELAN's files that have texts, with commas between them; * stands for any characters. Without
    /// it all tiers with times of their own, but not words and phones of an aligner
    #[arg(long, value_name = "NAMES", default_value = "", hide_default_value = true)]
    tiers: String,
    /// The channel of recordings with several: first, mix (the mean of all), or its number from 1
    #[arg(long, value_name = "first|mix|N", default_value = "first", value_parser = Channels::one)]
    channels: Channels,
    /// If true, go on without utterances that cannot be used, however many; otherwise more than 2 % are an error
    #[arg(long, default_value_t = false)]
    skip_bad: bool,
}

impl CorpusArgs {
    /// Reads the corpus at `place`.
    pub fn read(&self, place: &str, check: Check, num_threads: i64) -> Result<Corpus> {
        let threads = threads::number("num-threads", num_threads)?.get();
        let speakers: SpeakerRule = match self.speakers.parse() {
            Ok(speakers) => speakers,
            Err(message) => bail!("--speakers={}: {message}", self.speakers),
        };
        let tiers: TierRule = match self.tiers.parse() {
            Ok(tiers) => tiers,
            Err(message) => bail!("--tiers={}: {message}", self.tiers),
        };
        let extensions = self.text_extension.split(',').map(str::trim).filter(|ending| !ending.is_empty());
        let bar: OnceLock<Counter> = OnceLock::new();
        let options = kaldi_corpus::Options {
            text_extensions: extensions.map(str::to_owned).collect(),
            speakers,
            tiers,
            channels: self.channels,
            check,
            threads,
            progress: Some(Arc::new(move |done, all| {
                bar.get_or_init(|| progress::steps("recordings", all as u64)).set(done as u64);
            })),
            ..kaldi_corpus::Options::default()
        };
        Ok(read(&self.input(place)?, &options)?)
    }

    /// The options that another call for the same corpus needs, for a shell.
    pub fn as_options(&self) -> Vec<String> {
        let texts = [
            ("text", &self.text, ""),
            ("utt2spk", &self.utt2spk, ""),
            ("speakers", &self.speakers, ""),
            ("text-extension", &self.text_extension, "TextGrid,eaf,lab,txt"),
            ("tiers", &self.tiers, ""),
        ];
        let given = texts.into_iter().filter(|(_, value, default)| value != default);
        let mut all: Vec<String> =
            given.map(|(name, value, _)| format!("--{name}={}", shell_escape(value))).collect();
        match self.channels {
            Channels::First | Channels::Each => {}
            Channels::Mix => all.push("--channels=mix".to_owned()),
            Channels::Number(number) => all.push(format!("--channels={number}")),
        }
        if self.skip_bad {
            all.push("--skip-bad=true".to_owned());
        }
        all
    }

    /// True if any number of utterances may be lost.
    pub fn skips_bad(&self) -> bool {
        self.skip_bad
    }

    fn input(&self, place: &str) -> Result<Input> {
        if self.text.is_empty() {
            if !self.utt2spk.is_empty() {
                bail!("--utt2spk={}: it has an effect beside --text only", self.utt2spk);
            }
            return Ok(Input::Path(place.into()));
        }
        let speakers = (!self.utt2spk.is_empty()).then(|| PathBuf::from(&self.utt2spk));
        Ok(Input::Listed { sound: place.into(), text: PathBuf::from(&self.text), speakers })
    }

    /// Says what is wrong and how much of the corpus is left. Fails if too much is lost.
    pub fn judge(&self, corpus: &Corpus) -> Result<()> {
        match self.tell(corpus)? {
            Some(message) => bail!("{message}\n(--skip-bad=true goes on without them)"),
            None => Ok(()),
        }
    }

    /// Says what is wrong and how much of the corpus is left. Returns a sentence if too much is lost, and fails if no
    /// utterance is left.
    pub fn tell(&self, corpus: &Corpus) -> Result<Option<String>> {
        for line in report(&corpus.faults) {
            messages::warn(&line);
        }
        let counts = corpus.counts();
        messages::log(&counts.to_string());
        if counts.left_out().utterances > 0 {
            messages::log(&format!(
                "{} with words that have no pronunciation left out, as the option says",
                counts.left_out()
            ));
        }
        if corpus.own_speakers > 1 {
            // (Texts in a file of their own have speakers in one, too.)
            let way = match self.text.is_empty() {
                true => {
                    "--speakers=one, folder, prefix:N, field:N or a file with speakers says who speaks (--speakers=file: this is \
                     right)"
                }
                false => "--utt2spk=FILE, lines of a key and a speaker, says who speaks",
            };
            messages::log(&format!(
                "each of {} recordings is taken for a speaker of its own; {way}",
                corpus.own_speakers
            ));
        }
        let excess = counts.too_many_lost().filter(|_| !self.skips_bad());
        match (excess, corpus.utterances.is_empty()) {
            (Some(message), true) => bail!(message),
            (None, true) => bail!("no utterance is left"),
            (excess, false) => Ok(excess),
        }
    }
}
