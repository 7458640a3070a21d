//! Networks for one speaker: a transform that is estimated from what was recognised, as a layer before the network.
//!
//! The folder of a model has what is needed in `adaptation/`: speaker-adaptive Gaussian models, `lang/`, and `network.mdl`, which
//! reads the features of these models after the transform of the speaker.

use std::num::NonZero;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use kaldi_align::{Event, System, Utterance};
use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::columns::Columns;
use kaldi_feat::spectral::{Extractor, SpectralOptions};
use kaldi_lang::Lang;
use nnet3_online::config;
use nnet3_online::config::spectral::{MfccArgs, SpectralArgs};
use nnet3_online::{Transcript, Word};
use nnet3_train::acoustic::AmNnet;

use crate::feature_layer::put_before;

/// The folder of a model that has what adaptation needs.
const FOLDER: &str = "adaptation";

/// Seconds around the words of a sentence that belong to it.
const MARGIN: f64 = 0.2;

/// The parts of a model that adapt it to a speaker.
pub struct Adaptation {
    system: System,
    lang: Lang,
    network: AmNnet,
    spectral: SpectralOptions,
}

/// A network for one speaker, with the amount of speech that it was made from.
pub struct Adapted {
    /// The network, which reads cepstra as the model's does.
    pub network: AmNnet,
    /// Sentences that could be aligned, and the seconds of all of them.
    pub sentences: usize,
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
        ensure!(
            Path::new(&folder).is_dir(),
            "{model} has no folder {FOLDER}: this model cannot adapt to a speaker (recognizer.sh --adapt-speakers=true makes one that can)"
        );
        let system = System::load(&folder)?;
        ensure!(
            system.independent.is_some(),
            "{folder}: expected speaker-adaptive models, but there is no final.alimdl"
        );
        let lang = path(&format!("{FOLDER}/lang"));
        let args: MfccArgs = config::read("mfcc", &path("conf/mfcc.conf"))?;
        Ok(Adaptation {
            system,
            lang: Lang::read(&lang).with_context(|| format!("the language in {lang}"))?,
            network: AmNnet::load(&path(&format!("{FOLDER}/network.mdl")))?,
            spectral: args.options()?,
        })
    }

    /// Makes utterances of the sentences that were recognised in a recording. `samples` are those of the recording at `rate` Hz.
    /// Words that the lexicon lacks and sounds that are no words divide a sentence, and belong to none.
    ///
    /// # Errors
    /// The samples have a rate that the features do not take.
    pub fn utterances(
        &self,
        recording: &str,
        samples: &[f32],
        rate: u32,
        sentences: &[Transcript],
    ) -> Result<Vec<Utterance>> {
        let place = |seconds: f64| ((seconds.max(0.0) * f64::from(rate)) as usize).min(samples.len());
        let cepstra = Columns::parse(&format!("0-{}", self.system.cepstra() - 1))?;
        let mut utterances = Vec::new();
        for stretch in sentences
            .iter()
            .flat_map(|sentence| sentence.words.split(|word| number(&self.lang, word).is_none()))
        {
            let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else { continue };
            let begin = place(first.start - MARGIN);
            let part = &samples[begin..place(last.end + MARGIN).max(begin)];
            // (A new one for each stretch: its dither does not depend on the others.)
            let all = Extractor::new(self.spectral.clone())?.features(part, rate as f32, 1.0)?;
            utterances.push(Utterance {
                key: format!("{recording}-{}", utterances.len()),
                speaker: String::new(),
                features: cepstra.select(&all)?,
                words: stretch.iter().filter_map(|word| number(&self.lang, word)).collect(),
            });
        }
        Ok(utterances)
    }

    /// Estimates the transform of the speaker of utterances, and puts it before the network. `None` if there is too little
    /// speech.
    ///
    /// # Errors
    /// The folder's parts do not fit each other.
    pub fn adapt(&self, utterances: &[Utterance], threads: NonZero<usize>) -> Result<Option<Adapted>> {
        let aligned = self.system.align(&self.lang, utterances, threads, &mut |_: Event| {})?;
        let Some((_, Some(transform))) = aligned.transforms.first() else { return Ok(None) };
        let mut stats = CmvnStats::new(self.system.cepstra());
        for utterance in
            utterances.iter().filter(|utterance| utterance.problem(self.system.cepstra()).is_none())
        {
            stats.add(&utterance.features, None)?;
        }
        let Some(means) = stats.means_and_variances() else { return Ok(None) };
        let mean: Vec<f32> = means.row(0).iter().map(|&x| x as f32).collect();
        let mut layer = self.system.feature_layer()?;
        layer.subtract(&mean)?;
        layer.then(transform)?;
        layer.widen(self.spectral.dim())?;
        let mut network = self.network.clone();
        put_before(&layer, &mut network)?;
        let good = aligned.results.iter().zip(utterances).filter(|(result, _)| result.is_ok());
        let frames = good.clone().map(|(_, utterance)| utterance.features.rows).sum::<usize>();
        Ok(Some(Adapted {
            network,
            sentences: good.count(),
            seconds: frames as f64 * f64::from(self.spectral.frames.shift) / 1000.0,
        }))
    }
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

    #[test]
    fn sounds_that_are_no_word_of_the_lexicon_have_no_number() {
        let (lexicon, _) = Lexicon::parse("<unk> GBG\nno n\nyes y\n", "lexicon").unwrap();
        let lang = Lang::new(&lexicon, &LangOptions::default()).unwrap();
        let of = |text: &str| {
            number(&lang, &Word { text: text.to_owned(), start: 0.0, end: 1.0, confidence: 1.0 })
        };
        for word in ["no", "yes"] {
            assert_eq!(of(word).map(i64::from), lang.words.number(word), "{word}");
        }
        assert_eq!([of("<unk>"), of("perhaps")], [None, None]);
    }
}
