//! Networks for one speaker: a transform that is estimated from what was recognised, as a layer before the network.
//!
//! The folder of a model has what is needed in `adaptation/`: speaker-adaptive Gaussian models, `lang/`, and `network.mdl`, which
//! reads the features of these models after the transform of the speaker.

use std::num::NonZero;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use kaldi_align::{Event, System, Utterance};
use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::columns::Columns;
use kaldi_feat::spectral::{Extractor, SpectralOptions};
use kaldi_lang::Lang;
use nnet3_online::config;
use nnet3_online::config::spectral::{MfccArgs, SpectralArgs};
use nnet3_online::{Transcript, Word};
use nnet3_train::acoustic::AmNnet;

use crate::feature_layer::{is_transformed, put_before};

/// The folder of a model that has what adaptation needs.
const FOLDER: &str = "adaptation";

/// Virtual frames that draw the transform towards the identity, so that a few words, some of them wrong, do not overstrain it.
pub const PRIOR_FRAMES: f64 = 1000.0;

/// Words that the network is less sure of do not count.
const LEAST_CONFIDENCE: f32 = 0.7;

/// The part of the doubt about words that a transform must remove.
pub const LEAST_GAIN: f64 = 0.15;

/// Seconds around the words of a sentence that belong to it.
const MARGIN: f64 = 0.2;

/// The parts of a model that adapt it to a speaker.
pub struct Adaptation {
    system: System,
    lang: Lang,
    network: AmNnet,
    spectral: SpectralOptions,
}

/// Speech of one speaker, as a recogniser has understood it.
#[derive(Debug, Clone, Default)]
pub struct Speech {
    /// Stretches of words of the lexicon.
    pub utterances: Vec<Utterance>,
    /// The number of the recording of each utterance.
    pub recordings: Vec<usize>,
    /// The weight of each word of each utterance.
    weights: Vec<Vec<f32>>,
}

/// A part of a speaker's speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// Recordings with even or with odd numbers, from 0; the others are for a test of the transform. Half as much speech is enough.
    Half {
        odd: bool,
    },
}

impl Part {
    /// True if the recording of this number belongs to the part.
    pub fn has(self, recording: usize) -> bool {
        match self {
            Part::All => true,
            Part::Half { odd } => (recording % 2 == 1) == odd,
        }
    }
}

/// The result of an adaptation.
pub enum Outcome {
    Adapted(Box<Adapted>),
    /// There is too little speech: so many seconds where so many are needed.
    TooLittle {
        seconds: f64,
        needed: f64,
    },
}

/// Confidences of the words of a recogniser.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Certainty {
    sum: f64,
    words: usize,
}

impl Certainty {
    /// Adds the words of a recording. Sounds that are no words by `is_word` have the confidence 0. So has a recording without words.
    pub fn add(&mut self, sentences: &[Transcript], is_word: impl Fn(&Word) -> bool) {
        let words = sentences.iter().flat_map(|sentence| &sentence.words);
        let certain = |word: &Word| if is_word(word) { f64::from(word.confidence.min(1.0)) } else { 0.0 };
        self.sum += words.clone().map(certain).sum::<f64>();
        self.words += words.count().max(1);
    }

    /// True if the doubt, 1 minus the mean confidence, is less than that of `other` by [`LEAST_GAIN`]. A smaller difference may be chance.
    pub fn beats(&self, other: &Certainty) -> bool {
        1.0 - self.mean() <= (1.0 - LEAST_GAIN) * (1.0 - other.mean())
    }

    /// The mean confidence of all words; 0 without recordings.
    pub fn mean(&self) -> f64 {
        if self.words == 0 { 0.0 } else { self.sum / self.words as f64 }
    }
}

/// A network for one speaker, with the amount of speech that it was made from.
pub struct Adapted {
    /// The network, which reads cepstra as the model's does.
    pub network: AmNnet,
    /// True for each utterance that could be aligned, and the seconds of all of them.
    pub aligned: Vec<bool>,
    pub seconds: f64,
}

impl Adaptation {
    /// Reads these parts from the folder of a model.
    ///
    /// # Errors
    /// The model has none, or files are missing or wrong.
    pub fn open(model: &str) -> Result<Adaptation> {
        let path = |name: &str| Path::new(model).join(name).to_string_lossy().into_owned();
        let folder = path(FOLDER);
        if !Path::new(&folder).is_dir() {
            let within = format!("{model}/model");
            ensure!(
                !Path::new(&within).join(FOLDER).is_dir(),
                "{model} is the folder of recognizer.sh, which has the model in it: give {within}"
            );
            bail!(
                "{model} has no folder {FOLDER}, so it cannot adapt to a speaker: the model folder of recognizer.sh has one, if it was trained with \
                 transforms of speakers (--model=network --adapt-speakers=true), and models of adapt_model.sh have none"
            );
        }
        let mut system = System::load(&folder)?;
        system.options.prior_frames = PRIOR_FRAMES;
        ensure!(
            system.independent.is_some(),
            "{folder}: expected speaker-adaptive models, but there is no final.alimdl"
        );
        let lang = path(&format!("{FOLDER}/lang"));
        let args: MfccArgs = config::read("mfcc", &path("conf/mfcc.conf"))?;
        let mut spectral = args.options()?;
        // (The recogniser decides which rates it takes.)
        (spectral.frames.allow_upsample, spectral.frames.allow_downsample) = (true, true);
        let mut plain = system.feature_layer()?;
        plain.widen(spectral.dim())?;
        let network = AmNnet::load(&nnet3_online::acoustic_model(Path::new(model))?)?;
        ensure!(
            !is_transformed(&network, &plain),
            "{model} is adapted to a speaker already: expected the model that it was made from"
        );
        Ok(Adaptation {
            system,
            lang: Lang::read(&lang).with_context(|| format!("the language in {lang}"))?,
            network: AmNnet::load(&path(&format!("{FOLDER}/network.mdl")))?,
            spectral,
        })
    }

    /// True for a word of the lexicon that stands for no other sounds.
    pub fn knows(&self, word: &Word) -> bool {
        number(&self.lang, word).is_some()
    }

    /// Adds utterances of the sentences that were recognised in a recording, which has a number, to the speech of a speaker. `samples` are
    /// those of the recording at `rate` Hz. Words that the lexicon lacks and sounds that are no words divide a sentence, and belong to none.
    ///
    /// # Errors
    /// The samples have a rate that the features do not take.
    pub fn add(
        &self,
        speech: &mut Speech,
        recording: usize,
        samples: &[f32],
        rate: u32,
        sentences: &[Transcript],
    ) -> Result<()> {
        let place = |seconds: f64| ((seconds.max(0.0) * f64::from(rate)) as usize).min(samples.len());
        let cepstra = Columns::parse(&format!("0-{}", self.system.cepstra() - 1))?;
        for stretch in sentences
            .iter()
            .flat_map(|sentence| sentence.words.split(|word| number(&self.lang, word).is_none()))
        {
            let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else { continue };
            let begin = place(first.start - MARGIN);
            let part = &samples[begin..place(last.end + MARGIN).max(begin)];
            // (A new one for each stretch: its dither does not depend on the others.)
            let all = Extractor::new(self.spectral.clone())?.features(part, rate as f32, 1.0)?;
            speech.utterances.push(Utterance {
                key: format!("{recording}-{}", speech.utterances.len()),
                speaker: String::new(),
                features: cepstra.select(&all)?,
                words: stretch.iter().filter_map(|word| number(&self.lang, word)).collect(),
            });
            speech.recordings.push(recording);
            speech.weights.push(stretch.iter().map(|word| weight(word.confidence)).collect());
        }
        Ok(())
    }

    /// Estimates the transform of the speaker of utterances from a part of them, and puts it before the network.
    ///
    /// # Errors
    /// The folder's parts do not fit each other.
    pub fn adapt(&self, speech: &Speech, part: Part, threads: NonZero<usize>) -> Result<Outcome> {
        let utterances = &speech.utterances;
        let mut system = self.system.clone();
        if part != Part::All {
            system.options.min_speaker_frames /= 2.0;
        }
        let mut weights = speech.weights.clone();
        let others =
            weights.iter_mut().zip(&speech.recordings).filter(|(_, recording)| !part.has(**recording));
        others.for_each(|(weights, _)| weights.fill(0.0));
        let aligned =
            system.align_weighted(&self.lang, utterances, Some(&weights), threads, &mut |_: Event| {})?;
        let seconds = |frames: f64| frames * f64::from(self.spectral.frames.shift) / 1000.0;
        let too_little = || Outcome::TooLittle {
            seconds: seconds(aligned.frames.first().copied().unwrap_or_default()),
            needed: seconds(system.options.min_speaker_frames),
        };
        let Some((_, Some(transform))) = aligned.transforms.first() else { return Ok(too_little()) };
        let mut stats = CmvnStats::new(self.system.cepstra());
        for utterance in
            utterances.iter().filter(|utterance| utterance.problem(self.system.cepstra()).is_none())
        {
            stats.add(&utterance.features, None)?;
        }
        let Some(means) = stats.means_and_variances() else { return Ok(too_little()) };
        let mean: Vec<f32> = means.row(0).iter().map(|&x| x as f32).collect();
        let mut layer = self.system.feature_layer()?;
        layer.subtract(&mean)?;
        layer.then(transform)?;
        layer.widen(self.spectral.dim())?;
        let mut network = self.network.clone();
        put_before(&layer, &mut network)?;
        let good: Vec<bool> = aligned.results.iter().map(Result::is_ok).collect();
        let frames = utterances.iter().zip(&good).filter(|(_, good)| **good);
        let frames = frames.map(|(utterance, _)| utterance.features.rows).sum::<usize>();
        Ok(Outcome::Adapted(Box::new(Adapted { network, aligned: good, seconds: seconds(frames as f64) })))
    }
}

/// The weight of a word with this confidence.
fn weight(confidence: f32) -> f32 {
    if confidence < LEAST_CONFIDENCE { 0.0 } else { confidence.min(1.0) }
}

/// Returns the number of a word. `None` if the lexicon lacks it, or if it stands for sounds that are no word.
fn number(lang: &Lang, word: &Word) -> Option<u32> {
    let number = lang.words.number(&word.text)?;
    (number != i64::from(lang.oov)).then_some(number as u32)
}

#[cfg(test)]
mod tests {
    use kaldi_lang::LangOptions;
    use kaldi_lang::lexicon::Lexicon;

    use super::*;

    fn word(text: &str, confidence: f32) -> Word {
        Word { text: text.to_owned(), start: 0.0, end: 1.0, confidence }
    }

    #[test]
    fn doubt_must_become_a_good_deal_less() {
        let certainty = |confidences: &[f32]| {
            let mut sum = Certainty::default();
            for confidence in confidences {
                let words = vec![word("yes", *confidence)];
                sum.add(&[Transcript { words, ..Transcript::default() }], |word| word.text == "yes");
            }
            sum
        };
        let before = certainty(&[0.5, 0.75, 0.25]);
        assert_eq!(before.mean(), 0.5);
        assert!(certainty(&[0.6]).beats(&before) && !certainty(&[0.55]).beats(&before));
        assert!(!before.beats(&before) && !certainty(&[0.25]).beats(&before));
        // A recording without words, and a sound that is no word, are doubts.
        let mut sum = certainty(&[1.0, 1.0]);
        sum.add(&[], |_| true);
        sum.add(&[Transcript { words: vec![word("hm", 1.0)], ..Transcript::default() }], |_| false);
        assert_eq!(sum.mean(), 0.5);
    }

    #[test]
    fn words_of_little_confidence_do_not_count() {
        assert_eq!([0.3, 0.69, 0.75, 1.0, 1.01].map(weight), [0.0, 0.0, 0.75, 1.0, 1.0]);
    }

    #[test]
    fn halves_have_each_recording_once() {
        let halves = [false, true].map(|odd| Part::Half { odd });
        for number in 0..5 {
            assert_eq!(halves.iter().filter(|half| half.has(number)).count(), 1);
            assert!(Part::All.has(number));
        }
    }

    #[test]
    fn sounds_that_are_no_word_of_the_lexicon_have_no_number() {
        let (lexicon, _) = Lexicon::parse("<unk> GBG\nno n\nyes y\n", "lexicon").unwrap();
        let lang = Lang::new(&lexicon, &LangOptions::default()).unwrap();
        let of = |text: &str| number(&lang, &word(text, 1.0));
        for name in ["no", "yes"] {
            assert_eq!(of(name).map(i64::from), lang.words.number(name), "{name}");
        }
        assert_eq!([of("<unk>"), of("perhaps")], [None, None]);
    }
}
