//! An alignment job with a bar, and the sentences that people read of it.

use std::path::Path;

use anyhow::Result;
use kaldi_align::Event;
use kaldi_aligner::outputs::{TABLE, Written};
use kaldi_aligner::{Begin, Job, JobEvent, Listened, Model, Results};
use kaldi_cli::log;
use kaldi_corpus::{Amount, Corpus};
use kaldi_io::text::{count, either};
use nnet3::messages;
use nnet3::progress::{self, Counter};

/// Steps of the bar.
const ALL: u64 = 1000;

/// Scores texts, with a bar. See [`Job::listen`].
pub fn listen(job: &Job, begin: Begin, table: &Path) -> Result<Listened> {
    let mut teller = Teller::new();
    Ok(job.listen(begin, table, &mut |event| teller.tell(event))?)
}

/// Does a job, with a bar. See [`Job::run`].
pub fn run(
    job: Job,
    begin: Begin,
    trained: impl FnMut(&Model) -> kaldi_aligner::Result<()>,
) -> Result<Results> {
    let mut teller = Teller::new();
    let results = job.run(begin, trained, &mut |event| teller.tell(event))?;
    match teller.warnings.saturating_sub(WARNINGS) {
        0 => {}
        more => messages::warn(&format!("… and {more} more warnings of the training")),
    }
    Ok(results)
}

/// Tells people of events.
struct Teller {
    bar: Counter,
    /// The number of warnings.
    warnings: usize,
    /// True if it was said that no speaker has enough speech for a transform.
    is_without_transforms: bool,
}

impl Teller {
    fn new() -> Teller {
        Teller { bar: progress::steps("steps", ALL), warnings: 0, is_without_transforms: false }
    }

    fn tell(&mut self, event: JobEvent) {
        match event {
            JobEvent::Part(name) => self.bar.note(name.to_owned()),
            JobEvent::Share(share) => self.bar.set((share * ALL as f64) as u64),
            JobEvent::Search { place, seconds, search, beam } => messages::log(&format!(
                "{place}: {:.1} min with one text are searched for its words: search {search} of 2, beam {beam}",
                seconds / 60.0
            )),
            JobEvent::Cut { recordings, pieces } => {
                let cut = either(recordings, "was", "were");
                messages::log(&format!(
                    "{} {cut} cut into {}",
                    count(recordings, "long recording"),
                    count(pieces, "utterance")
                ));
            }
            JobEvent::Training(event) => self.tell_of_training(event),
        }
    }

    fn tell_of_training(&mut self, event: Event) {
        match event {
            Event::Stage { kind, utterances, leaves, gaussians, .. } => {
                self.bar.note(kind.name().to_owned());
                let tree = if leaves > 0 {
                    format!("at most {leaves} {} and ", either(leaves, "leaf", "leaves"))
                } else {
                    String::new()
                };
                messages::log(&format!(
                    "{}: {}, {tree}{}",
                    kind.name(),
                    count(utterances, "utterance"),
                    count(gaussians, "Gaussian")
                ));
            }
            Event::Transforms { speakers, without, .. } if speakers == without && speakers > 0 => {
                if !std::mem::replace(&mut self.is_without_transforms, true) {
                    messages::warn(
                        "no speaker has enough speech for a transform (more than ten seconds are needed): times are less exact; a folder is a \
                         speaker, unless --speakers says otherwise",
                    );
                }
            }
            Event::Transforms { speakers, without, improvement } => {
                let others = match without {
                    0 => String::new(),
                    _ => format!(
                        "; {} {} too little speech",
                        count(without, "other"),
                        either(without, "has", "have")
                    ),
                };
                messages::log(&format!(
                    "transforms of {} improve the log-likelihood of a frame by {improvement:.3}{others}",
                    count(speakers - without, "speaker")
                ));
            }
            Event::Warning(message) => {
                self.warnings += 1;
                if self.warnings <= WARNINGS {
                    messages::warn(&message);
                }
            }
            Event::Message(message) => messages::log(&message),
            Event::Detail { text, .. } if log::verbose() > 0 => messages::log(&text),
            Event::Detail { .. }
            | Event::Progress(_)
            | Event::Aligned { .. }
            | Event::Iteration { .. }
            | Event::Tree { .. } => {}
        }
    }
}

/// Warnings of a training that are shown.
const WARNINGS: usize = 5;

/// Says how many utterances were aligned, and why others were not.
pub fn tell(corpus: &Corpus, results: &Results, table: &Path) -> usize {
    let mut faults: Vec<(&str, &str)> = Vec::new();
    let (mut aligned, mut seconds, mut retried) = (0, 0.0, 0);
    for (utterance, result) in corpus.utterances.iter().zip(&results.utterances) {
        match result {
            Ok(found) => {
                aligned += 1;
                retried += usize::from(found.retried);
                seconds += corpus.seconds(utterance);
            }
            Err(reason) => faults.push((&utterance.place, reason)),
        }
    }
    for (place, reason) in faults.iter().take(5) {
        messages::warn(&format!("{place} is not aligned: {reason}"));
    }
    if faults.len() > 5 {
        messages::warn(&format!("… and {} more, see {}", faults.len() - 5, table.display()));
    }
    messages::log(&format!(
        "{} in, {} aligned, {retried} of them with a wider beam; {} not aligned",
        corpus.kept(),
        Amount { utterances: aligned, seconds },
        faults.len()
    ));
    aligned
}

/// A sentence that names the results in the folder `to`.
pub fn summary(to: &str, written: &[Written]) -> String {
    let of = |written: &Written| match *written {
        Written::Files { folder, ending: "TextGrid", count: 1 } => format!("1 TextGrid in {folder}"),
        Written::Files { folder, ending: "TextGrid", count } => format!("{count} TextGrids in {folder}"),
        Written::Files { folder, ending, count: 1 } => format!("1 .{ending} file in {folder}"),
        Written::Files { folder, ending, count } => format!("{count} .{ending} files in {folder}"),
        Written::Table(TABLE) => format!("{TABLE} (a line for each recording)"),
        Written::Table(name) => name.to_owned(),
        Written::Doubtful { name, words: 1 } => format!("{name} (1 word whose sound does not fit)"),
        Written::Doubtful { name, words } => format!("{name} ({words} words whose sound does not fit)"),
        Written::LeftOut { name, words } => format!("{name} ({} left out)", count(words, "word")),
        Written::Untexted { name, places, seconds } => {
            format!(
                "{name} ({} with {seconds:.1} s of sound that no word belongs to)",
                count(places, "place")
            )
        }
    };
    let all: Vec<String> = written.iter().map(of).collect();
    format!("the results are in {to}: {}", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentence_names_all_results() {
        let written = [
            Written::Files { folder: "textgrids", ending: "TextGrid", count: 57 },
            Written::Files { folder: "json", ending: "json", count: 1 },
            Written::Table("alignment.csv"),
            Written::Doubtful { name: "doubtful.tsv", words: 1 },
            Written::LeftOut { name: "left_out.tsv", words: 13 },
            Written::Untexted { name: "untexted.tsv", places: 2, seconds: 5.04 },
            Written::Table(TABLE),
        ];
        assert_eq!(
            summary("out", &written),
            "the results are in out: 57 TextGrids in textgrids, 1 .json file in json, alignment.csv, \
             doubtful.tsv (1 word whose sound does not fit), left_out.tsv (13 words left out), \
             untexted.tsv (2 places with 5.0 s of sound that no word belongs to), files.tsv (a line for each recording)"
        );
    }
}
