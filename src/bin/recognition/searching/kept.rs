//! Lattices that nnet3-transcribe has kept.

use std::path::Path;

use anyhow::{Context, Result, bail};
use kaldi_io::filename::as_path;
use nnet3::tables::Input;
use nnet3_decode::{CompactLattice, CompactLatticeHolder, mbr};
use nnet3_online::{Model, Word};

use super::super::transcribe::lattices::{SUFFIX, archive, place};
use super::super::transcribe::{Name, distinct};

/// The archives in a folder and the names of their recordings: those of the given recordings, or all, sorted by name. Names that are
/// `columns` have no blanks.
pub fn archives(folder: &str, recordings: &[String], columns: bool) -> Result<Vec<(String, String)>> {
    let mut all = found(folder, recordings)?;
    if columns {
        let is_blank = |c: char| c.is_whitespace() || c.is_control();
        all.iter_mut().for_each(|(_, name)| *name = name.replace(is_blank, "_"));
    }
    Ok(all)
}

fn found(folder: &str, recordings: &[String]) -> Result<Vec<(String, String)>> {
    if !recordings.is_empty() {
        let named = distinct(recordings, Name::OfFile).into_iter().map(|name| (archive(folder, &name), name));
        let all: Vec<(String, String)> = named.collect();
        for ((file, _), recording) in all.iter().zip(recordings) {
            if !Path::new(file).is_file() {
                bail!("--lattices={folder}: there are no lattices of {recording} (expected {file})");
            }
        }
        return Ok(all);
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("--lattices={folder}"))?;
    let mut all = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(&format!(".{SUFFIX}"))) {
            all.push((archive(folder, name), name.to_owned()));
        }
    }
    if all.is_empty() {
        bail!(
            "--lattices={folder}: the folder has no lattices (nnet3-transcribe --lattices={folder} keeps them)"
        );
    }
    all.sort();
    Ok(all)
}

/// Calls `each` with the channel, the begin in seconds and the lattice of each sentence of an archive. Fails if the lattices are
/// not of this model.
pub fn sentences(
    model: &Model,
    file: &str,
    mut each: impl FnMut(usize, f64, &CompactLattice) -> Result<()>,
) -> Result<()> {
    as_path(|| {
        Input::<CompactLatticeHolder>::open(&format!("ark:{file}"))?.for_each(|key, lattice| {
            let Some((channel, start)) = place(key) else {
                bail!(
                    "{file}: expected a key with a channel and a begin, as nnet3-transcribe writes them, found '{key}'"
                );
            };
            check(model, &lattice).with_context(|| format!("{file}: the lattices were made with another model"))?;
            each(channel, start, &lattice)
        })
    })
}

/// Fails if a lattice has words or transitions that the model lacks.
fn check(model: &Model, lattice: &CompactLattice) -> Result<()> {
    let transitions = model.transitions().num_transition_ids();
    let arcs = || lattice.states.iter().flat_map(|state| &state.arcs);
    if let Some(word) = arcs().map(|arc| arc.olabel).find(|&word| word != 0 && model.word(word).is_err()) {
        bail!("this model has no word with the number {word}");
    }
    let strings = arcs().map(|arc| &arc.weight.string);
    let strings = strings.chain(lattice.states.iter().map(|state| &state.final_weight.string));
    match strings.flatten().find(|&&id| usize::try_from(id).is_ok_and(|id| id > transitions)) {
        Some(id) => bail!("this model has no transition with the number {id}"),
        None => Ok(()),
    }
}

/// The words of a lattice with the least expected number of errors. Its arcs are words, and its costs are scaled.
pub fn words(model: &Model, lattice: &CompactLattice, start: f64) -> Result<Vec<Word>> {
    let found = mbr::decode(lattice, None, mbr::Options::default())?;
    let time = |frames: f32| start + f64::from(frames) * f64::from(model.output_frame_length());
    let words = found.words.iter().zip(&found.times).zip(&found.confidences);
    let word = |((&word, &(begin, end)), &confidence): ((&i32, &(f32, f32)), &f32)| {
        Ok(Word { text: model.word(word)?.to_owned(), start: time(begin), end: time(end), confidence })
    };
    words.map(word).collect()
}
