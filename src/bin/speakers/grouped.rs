//! Vectors of each speaker, from a list of the speaker's utterances.

use anyhow::{Context, Result, bail};
use kaldi_io::RandomReader;
use kaldi_io::holder::{TokenVectorHolder, VectorHolder};
use kaldi_speaker::vectors::check;
use nnet3::messages;
use nnet3::tables::Input;

/// Vectors of each speaker that has any, and counts.
#[derive(Default)]
pub struct Grouped {
    pub speakers: Vec<Vec<Vec<f32>>>,
    /// Speakers without vectors.
    pub without: u64,
    /// Utterances with and without vectors.
    pub present: u64,
    pub absent: u64,
}

/// Reads the vectors. One that is missing or empty is left out with a warning.
///
/// # Errors
/// If a speaker has no utterances, or a vector has another dimension than those before it or elements that are not finite.
pub fn read(spk2utt: &str, vectors: &str) -> Result<Grouped> {
    let input = Input::<TokenVectorHolder>::open(spk2utt)?;
    let mut table = RandomReader::<VectorHolder>::open(vectors)?;
    let mut grouped = Grouped::default();
    let mut dim = None;
    input.for_each(|speaker, utterances| {
        if utterances.is_empty() {
            bail!("Speaker with no utterances.");
        }
        let mut own = Vec::new();
        for utterance in &utterances {
            let Some(vector) = table.get(utterance)? else {
                messages::warn(&format!("No iVector present in input for utterance {utterance}"));
                grouped.absent += 1;
                continue;
            };
            if vector.is_empty() {
                messages::warn(&format!("{utterance}: empty vector"));
                grouped.absent += 1;
                continue;
            }
            check(vector).with_context(|| format!("utterance {utterance}"))?;
            let (found, expected) = (vector.len(), *dim.get_or_insert(vector.len()));
            if found != expected {
                bail!("utterance {utterance}: dimension {found}, the vectors before it have {expected}");
            }
            own.push(vector.clone());
        }
        if own.is_empty() {
            messages::warn(&format!("Speaker {speaker} has no iVectors"));
            grouped.without += 1;
        } else {
            grouped.present += own.len() as u64;
            grouped.speakers.push(own);
        }
        Ok(())
    })?;
    table.close()?;
    Ok(grouped)
}
