//! Long recordings with one text, which is what is said or is not.

use kaldi_aligner::{AnyModel, Begin, Job, JobEvent, Results};
use kaldi_corpus::{Corpus, Input, Kind, Options, SpeakerRule, read};

use crate::sounds::{Made, one, write};

/// Joins the recordings of a folder to one of two minutes or more, with this text for each.
fn join(from: &std::path::Path, to: &std::path::Path, count: usize, text: impl Fn(usize) -> usize) {
    let file = |number: usize, ending: &str| from.join(format!("{number:02}.{ending}"));
    let (mut samples, mut texts) = (Vec::new(), Vec::new());
    for number in 0..count {
        samples.extend(std::fs::read(file(number, "wav")).unwrap().split_off(44));
        texts.push(std::fs::read_to_string(file(text(number), "txt")).unwrap());
    }
    let mut wave = std::fs::read(file(0, "wav")).unwrap();
    wave.truncate(40);
    wave[4..8].copy_from_slice(&(36 + samples.len() as u32).to_le_bytes());
    wave.extend((samples.len() as u32).to_le_bytes());
    wave.extend(samples);
    std::fs::create_dir_all(to).unwrap();
    std::fs::write(to.join("long.wav"), wave).unwrap();
    std::fs::write(to.join("long.txt"), texts.join(" ")).unwrap();
}

/// Aligns a joined recording with the text of others: `text` says of which.
fn aligned(made: &Made, text: impl Fn(usize) -> usize) -> (Corpus, Results) {
    let folder = tempfile::tempdir().unwrap();
    let (parts, long) = (folder.path().join("parts"), folder.path().join("long"));
    std::fs::create_dir(&parts).unwrap();
    write(&parts, 100);
    join(&parts, &long, 100, text);
    let reading = Options { speakers: SpeakerRule::One, ..Options::default() };
    let mut corpus = read(&Input::Path(long), &reading).unwrap();
    assert!(corpus.recordings[0].seconds > 125.0, "{}", corpus.recordings[0].seconds);
    let model = AnyModel::Gaussian(Box::new(made.monophones()));
    let job =
        Job { corpus: &mut corpus, pronunciations: &made.pronunciations, with_scores: false, threads: one() };
    let mut heard = Vec::new();
    let results = job.run(Begin::Given(model), |_| Ok(()), &mut |event| heard.push(event)).unwrap();
    check_progress(&heard);
    (corpus, results)
}

/// Each search says that it begins, and how far it is: no long time passes without an event.
fn check_progress(heard: &[JobEvent]) {
    let begins: Vec<usize> = (0..heard.len())
        .filter(|&at| matches!(heard[at], JobEvent::Search { seconds, .. } if seconds > 125.0))
        .collect();
    assert!(!begins.is_empty());
    for begin in begins {
        let shares = heard[begin + 1..].iter().take_while(|event| matches!(event, JobEvent::Share(_)));
        assert!(shares.count() >= 20);
    }
}

#[test]
fn a_text_that_is_not_what_is_said_is_doubtful_or_not_aligned() {
    let made = Made::new(20);
    let (corpus, results) = aligned(&made, |number| number);
    let misfits =
        |corpus: &Corpus| corpus.faults.iter().filter(|fault| fault.kind == Kind::TextDoesNotFit).count();
    assert_eq!(misfits(&corpus), 0, "{:?}", corpus.faults);
    assert!(results.utterances.len() > 5 && results.utterances.iter().all(Result::is_ok));
    // The texts of other recordings.
    let (corpus, results) = aligned(&made, |number| (37 * number + 11) % 100);
    let not_aligned = results.utterances.iter().filter(|result| result.is_err()).count();
    assert!(misfits(&corpus) + not_aligned > 0, "{:?}", corpus.faults);
}
