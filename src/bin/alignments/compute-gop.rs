//! `compute-gop`: goodness of pronunciation of the phones of alignments.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_hmm::TransitionModel;
use kaldi_hmm::goodness::{Goodness, PhoneGoodness};
use kaldi_io::holder::{I32VectorHolder, MatrixHolder, PosteriorHolder, VectorHolder};
use kaldi_io::text::split_integers;
use kaldi_io::{DenseMatrix, RandomReader, TableWriter, read_object};
use kaldi_tree::phone_sets::PhoneMap;
use nnet3::tables::Input;
use nnet3::{messages, trees};

/// Compute Goodness Of Pronunciation (GOP) from a matrix of probabilities (e.g. from nnet3-compute).
///
/// Writes a pair of phone and goodness for each phone of an utterance. Writes a vector of features under the utterance's key, a dot
/// and the phone's number.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: nnet3-compute ... | compute-gop --phone-map=phone_map.txt final.mdl ark:ali ark:ali-phone ark:- ark:gop ark:feats"
)]
pub struct Options {
    /// If true, assume the input probabilities have been applied log.
    #[arg(long, default_value_t = true)]
    log_applied: bool,
    /// File name containing old->new phone mapping (each line is: old-integer-id new-integer-id). It is needed.
    #[arg(long, default_value = "")]
    phone_map: String,
    /// Do not write features and gops for those phones
    #[arg(long = "skip_phones_string", default_value = "0")]
    skip_phones_string: String,
    model: String,
    transition_alignments_rspecifier: String,
    phone_alignments_rspecifier: String,
    prob_rspecifier: String,
    gop_wspecifier: String,
    phone_feature_wspecifier: String,
}

impl Options {
    fn goodness(&self, model: &TransitionModel) -> Result<Goodness> {
        if self.phone_map.is_empty() {
            bail!("--phone-map: expected the name of a file, found none");
        }
        let map = trees::read_text(&self.phone_map, PhoneMap::read)?;
        let phones = model.topology().phones().iter();
        let map: BTreeMap<i32, i32> = phones.filter_map(|&phone| Some((phone, map.get(phone)?))).collect();
        let skipped = split_integers(&self.skip_phones_string, &[':'], false).with_context(|| {
            format!("--skip_phones_string={}: expected phones as in 0:4", self.skip_phones_string)
        })?;
        Goodness::new(model, map, skipped.into_iter().collect()).with_context(|| self.phone_map.clone())
    }
}

/// The phones of an utterance.
fn of_utterance(
    model: &TransitionModel,
    goodness: &Goodness,
    probabilities: &DenseMatrix<f32>,
    phones: &[i32],
    alignment: &[i32],
) -> kaldi_hmm::Result<Vec<PhoneGoodness>> {
    let segments = model.split_to_phones(&model.transition_ids(alignment)?)?;
    let lengths: Vec<usize> = segments.iter().map(|segment| segment.frames.len()).collect();
    goodness.of_utterance(probabilities, phones, &lengths)
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let goodness = options.goodness(&model)?;
    let mut phones = RandomReader::<I32VectorHolder>::open(&options.phone_alignments_rspecifier)?;
    let mut alignments = RandomReader::<I32VectorHolder>::open(&options.transition_alignments_rspecifier)?;
    let mut gops = TableWriter::<PosteriorHolder>::open(&options.gop_wspecifier)?;
    let mut features = TableWriter::<VectorHolder>::open(&options.phone_feature_wspecifier)?;
    let mut done = 0;
    Input::<MatrixHolder>::open(&options.prob_rspecifier)?.for_each(|key, mut probabilities| {
        let Some(phones) = phones.get(key)? else {
            messages::warn(&format!("No phoneme alignment for utterance {key}"));
            return Ok(());
        };
        let Some(alignment) = alignments.get(key)? else {
            messages::warn(&format!("No transition alignment for utterance {key}"));
            return Ok(());
        };
        if options.log_applied {
            probabilities.data.iter_mut().for_each(|value| *value = value.exp());
        }
        if phones.len() != probabilities.rows {
            messages::warn(&format!("{key}: The frame numbers of alignment and prob are not equal."));
        }
        let found = match of_utterance(&model, &goodness, &probabilities, phones, alignment) {
            Ok(found) if probabilities.rows > 0 && !phones.is_empty() => found,
            Ok(_) => {
                messages::warn(&format!("{key} has no frames"));
                return Ok(());
            }
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                return Ok(());
            }
        };
        gops.write(key, &found.iter().map(|phone| vec![(phone.phone, phone.goodness)]).collect())?;
        for (number, phone) in found.iter().enumerate() {
            features.write(&format!("{key}.{number}"), &phone.features)?;
        }
        done += 1;
        Ok(())
    })?;
    phones.close()?;
    alignments.close()?;
    gops.close()?;
    features.close()?;
    messages::log(&format!("Processed {done} prob matrices."));
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
