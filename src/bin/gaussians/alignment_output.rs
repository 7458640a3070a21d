//! Log lines about trainings and alignments, and their files.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use kaldi_align::{Aligned, Event, Reason};
use kaldi_cli::log::num;
use kaldi_fst::store::Symbols;
use kaldi_io::holder::{I32VectorHolder, MatrixHolder};
use kaldi_io::text::{count, either};
use kaldi_io::{KaldiWriter, TableWriter};
use nnet3::messages;
use nnet3::progress::Counter;
use nnet3::tables::Skip;

use crate::gaussians::data_folder::Data;

/// Steps of a bar.
pub const STEPS: u64 = 1000;

/// Logs an event, or moves the bar.
pub fn show(event: Event, bar: &Counter) {
    match event {
        Event::Stage { kind, utterances, leaves, gaussians, .. } => {
            let sizes = if leaves > 0 {
                format!("{leaves} {}, ", either(leaves, "leaf", "leaves"))
            } else {
                String::new()
            };
            messages::log(&format!(
                "Training {} on {}: at most {sizes}{}",
                kind.name(),
                count(utterances, "utterance"),
                count(gaussians, "Gaussian")
            ));
        }
        Event::Aligned { aligned, retried, failed } => {
            let all = aligned + failed;
            messages::log(&format!(
                "Aligned {aligned} of {}, {retried} with a wider beam; {failed} not aligned",
                count(all, "utterance")
            ));
        }
        Event::Iteration { number, of, log_likelihood, gaussians, .. } => messages::log(&format!(
            "Iteration {number} of {of}: log-likelihood per frame {}, now {gaussians} Gaussians",
            num(log_likelihood)
        )),
        Event::Tree { leaves } => {
            messages::log(&format!("The tree has {leaves} {}", either(leaves, "leaf", "leaves")))
        }
        Event::Transforms { speakers, without, improvement } => messages::log(&format!(
            "Transforms of {} improve the log-likelihood by {} per frame; {} {} none",
            count(speakers - without, "speaker"),
            num(improvement),
            count(without, "speaker"),
            either(without, "has", "have")
        )),
        Event::Message(text) | Event::Detail { text, is_warning: false } => messages::log(&text),
        Event::Warning(text) | Event::Detail { text, is_warning: true } => messages::warn(&text),
        Event::Progress(share) => bar.set((share * STEPS as f64) as u64),
    }
}

fn path_in(folder: &str, name: &str) -> String {
    Path::new(folder).join(name).to_string_lossy().into_owned()
}

/// Describes why an utterance is not aligned; names words.
fn describe(reason: &Reason, words: &[String]) -> String {
    match reason {
        Reason::NoPronunciation { position, .. } => {
            format!("the lexicon has no pronunciation of '{}'", words[*position])
        }
        other => other.to_string(),
    }
}

/// Writes alignments, transforms, a table of all utterances, and phones with their times. Logs what was not aligned, and returns
/// the number of aligned utterances.
pub fn write(folder: &str, data: &Data, aligned: &Aligned, phones: &Symbols) -> Result<usize> {
    std::fs::create_dir_all(folder)?;
    let mut alignments = TableWriter::<I32VectorHolder>::open(&format!(
        "ark:|gzip -c >{}",
        quoted(&path_in(folder, "ali.1.gz"))
    ))?;
    let mut table = KaldiWriter::create(&path_in(folder, "utterances.tsv"), false)?;
    let mut ctm = KaldiWriter::create(&path_in(folder, "phones.ctm"), false)?;
    table.write_str("utterance\tspeaker\tframes\tresult\tlog-likelihood\n")?;
    let mut order: Vec<usize> = (0..data.utterances.len()).collect();
    order.sort_by(|&a, &b| data.utterances[a].key.as_bytes().cmp(data.utterances[b].key.as_bytes()));
    let (mut done, mut frames) = (0, 0);
    let mut reasons: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for place in order {
        let utterance = &data.utterances[place];
        let (result, likelihood) = match &aligned.results[place] {
            Ok(alignment) => {
                done += 1;
                frames += utterance.features.rows;
                alignments.write(&utterance.key, &alignment.ids)?;
                for phone in &alignment.phones {
                    // (The nearest frames, as other programs have times in frames.)
                    let seconds = |frame: f64| frame.round() * data.frame_shift;
                    let (begin, end) = (seconds(phone.fine.0), seconds(phone.fine.1));
                    let name = phones.name(phone.phone.into()).unwrap_or_default();
                    ctm.write_str(&format!("{} 1 {:.3} {:.3} {name}\n", utterance.key, begin, end - begin))?;
                }
                let result = if alignment.retried { "aligned with a wider beam" } else { "aligned" };
                (result.to_owned(), format!("{:.3}", alignment.log_likelihood))
            }
            Err(reason) => {
                let counts = reasons.entry(reason.name()).or_default();
                counts.0 += 1;
                counts.1 += utterance.features.rows;
                let text = describe(reason, &data.texts[place]);
                messages::warn(&format!("{} is not aligned: {text}", utterance.key));
                (text, String::new())
            }
        };
        let (key, speaker, rows) = (&utterance.key, &utterance.speaker, utterance.features.rows);
        table.write_str(&format!("{key}\t{speaker}\t{rows}\t{result}\t{likelihood}\n"))?;
    }
    for (key, Skip::Reason(reason) | Skip::Sentence(reason)) in &data.without_features {
        table.write_str(&format!("{key}\t\t0\t{reason}\t\n"))?;
    }
    table.finish()?;
    ctm.finish()?;
    alignments.close()?;
    let mut w = KaldiWriter::create(&path_in(folder, "num_jobs"), false)?;
    w.write_str("1\n")?;
    w.finish()?;
    write_transforms(folder, aligned)?;
    let mut parts: Vec<String> = reasons
        .iter()
        .map(|(name, (count, frames))| format!("{count} {name} ({:.3} h)", data.hours(*frames)))
        .collect();
    if !data.without_features.is_empty() {
        parts.push(format!("{} without features", data.without_features.len()));
    }
    let rest = if parts.is_empty() {
        "none is left out".to_owned()
    } else {
        format!("left out: {}", parts.join(", "))
    };
    messages::log(&format!(
        "{} ({:.3} h) in; {done} ({:.3} h) aligned; {rest}",
        count(data.utterances.len() + data.without_features.len(), "utterance"),
        data.hours(data.frames()),
        data.hours(frames)
    ));
    Ok(done)
}

/// Writes the transforms of speakers, sorted; speakers without one get the identity if others have one, and are listed in
/// speakers_without_transform.
fn write_transforms(folder: &str, aligned: &Aligned) -> Result<()> {
    let Some(dim) = aligned.transforms.iter().find_map(|(_, matrix)| Some(matrix.as_ref()?.rows)) else {
        return Ok(());
    };
    let mut identity = kaldi_io::DenseMatrix::new(dim, dim + 1);
    (0..dim).for_each(|d| identity.row_mut(d)[d] = 1.0);
    let mut transforms: Vec<_> = aligned.transforms.iter().collect();
    transforms.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    let mut out = TableWriter::<MatrixHolder>::open(&format!("ark:{}", path_in(folder, "trans.1")))?;
    let mut without = KaldiWriter::create(&path_in(folder, "speakers_without_transform"), false)?;
    for (speaker, _) in transforms.iter().filter(|(_, matrix)| matrix.is_none()) {
        without.write_str(&format!("{speaker}\n"))?;
    }
    without.finish()?;
    for (speaker, matrix) in transforms {
        out.write(speaker, matrix.as_ref().unwrap_or(&identity))?;
    }
    Ok(out.close()?)
}

/// A file name for the shell.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "'\\''"))
}
