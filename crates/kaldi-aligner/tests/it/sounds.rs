//! Recordings whose letters are pairs of tones, and a model that is trained on them.

use std::num::NonZero;
use std::path::Path;

use kaldi_align::Event;
use kaldi_aligner::cepstra::{Extracted, extract};
use kaldi_aligner::{AlignedUtterance, FeatureSettings, Model, Pronunciations, Results, Source, Unknown};
use kaldi_corpus::{Corpus, Input, Options, SpeakerRule, read};
use kaldi_lang::Lang;

pub const RATE: u32 = 8000;
const TONES: [[f64; 2]; 4] = [[350.0, 950.0], [1500.0, 2400.0], [2900.0, 3400.0], [600.0, 2000.0]];
const LETTERS: [char; 4] = ['a', 'b', 'c', 'd'];

pub fn one() -> NonZero<usize> {
    NonZero::new(1).unwrap()
}

/// Writes recordings `NN.wav` of four words each, with their texts beside them.
pub fn write(folder: &Path, count: usize) {
    let mut random = fastrand::Rng::with_seed(3);
    for number in 0..count {
        let (mut samples, mut words) = (Vec::new(), Vec::new());
        let mut put = |seconds: f64, tones: &[f64], random: &mut fastrand::Rng| {
            for n in 0..(seconds * f64::from(RATE)) as usize {
                let phase = std::f64::consts::TAU * n as f64 / f64::from(RATE);
                let tone: f64 = tones.iter().map(|hz| 2500.0 * (hz * phase).sin()).sum();
                samples
                    .push((tone + if tones.is_empty() { 40.0 } else { 800.0 } * (random.f64() - 0.5)) as i16);
            }
        };
        put(0.2, &[], &mut random);
        for _ in 0..4 {
            let mut word = String::new();
            for _ in 0..2 {
                let letter = random.usize(..4);
                word.push(LETTERS[letter]);
                put(0.07 + 0.08 * random.f64(), &TONES[letter], &mut random);
            }
            words.push(word);
            if random.f64() < 0.4 {
                put(0.12, &[], &mut random);
            }
        }
        put(0.2, &[], &mut random);
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let mut wave =
            [&b"RIFF"[..], &(36 + bytes.len() as u32).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0\x01\0"]
                .concat();
        wave.extend([RATE.to_le_bytes(), (2 * RATE).to_le_bytes()].concat());
        wave.extend(b"\x02\0\x10\0data");
        wave.extend((bytes.len() as u32).to_le_bytes());
        wave.extend(bytes);
        std::fs::write(folder.join(format!("{number:02}.wav")), wave).unwrap();
        std::fs::write(folder.join(format!("{number:02}.txt")), words.join(" ")).unwrap();
    }
}

/// A corpus with its lexicon.
pub struct Made {
    pub corpus: Corpus,
    pub pronunciations: Pronunciations,
    _folder: tempfile::TempDir,
}

impl Made {
    pub fn new(count: usize) -> Made {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), count);
        let reading = Options { speakers: SpeakerRule::One, ..Options::default() };
        let corpus = read(&Input::Path(folder.path().to_owned()), &reading).unwrap();
        let mut pronunciations = Pronunciations::new(Source::Letters).unwrap();
        pronunciations.complete(&corpus, Unknown::Spoken).unwrap();
        Made { corpus, pronunciations, _folder: folder }
    }

    pub fn extracted(&self, lang: &Lang, features: &FeatureSettings) -> Extracted {
        extract(&self.corpus, lang, features, one(), |_| ()).unwrap()
    }

    /// Monophones.
    pub fn monophones(&self) -> Model {
        let lang = Lang::new(&self.pronunciations.lexicon, &self.pronunciations.options()).unwrap();
        let features = FeatureSettings { dither: 0.0, ..FeatureSettings::for_rate(RATE) };
        let extracted = self.extracted(&lang, &features);
        Model::train_quickly(&lang, &extracted, features, one(), &mut |_: Event| ()).unwrap()
    }

    pub fn align(&self, model: &Model) -> Results {
        let lang = model.lang(&self.pronunciations).unwrap();
        let extracted = self.extracted(&lang, &model.features);
        let inputs = (&self.corpus, &extracted);
        model.align(&lang, &self.pronunciations, inputs, true, one(), &mut |_: Event| ()).unwrap()
    }
}

/// Names and times of the phones of all utterances.
pub fn phones(results: &Results) -> Vec<(String, f64, f64)> {
    let utterances = results.utterances.iter().map(|result| result.as_ref().unwrap());
    let words = utterances.flat_map(|utterance: &AlignedUtterance| &utterance.words);
    words.flat_map(|word| &word.phones).map(|phone| (phone.name.clone(), phone.begin, phone.end)).collect()
}
