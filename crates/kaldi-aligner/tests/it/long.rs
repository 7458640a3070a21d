//! Long recordings with one text, which is what is said or is not.

use kaldi_aligner::{AnyModel, Begin, Job, JobEvent, Results};
use kaldi_corpus::{Corpus, Input, Kind, Options, SpeakerRule, read};

use crate::sounds::{Made, one, write};

/// Joins the recordings of a folder to one of two minutes or more, with these texts for each.
fn join(from: &std::path::Path, to: &std::path::Path, count: usize, texts_of: impl Fn(usize) -> Vec<usize>) {
    let file = |number: usize, ending: &str| from.join(format!("{number:02}.{ending}"));
    let (mut samples, mut texts) = (Vec::new(), Vec::new());
    for number in 0..count {
        samples.extend(std::fs::read(file(number, "wav")).unwrap().split_off(44));
        texts.extend(
            texts_of(number).into_iter().map(|text| std::fs::read_to_string(file(text, "txt")).unwrap()),
        );
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

/// Aligns a joined recording with texts of its parts: `texts_of` says of which.
fn aligned(made: &Made, all_words: bool, texts_of: impl Fn(usize) -> Vec<usize>) -> (Corpus, Results) {
    let folder = tempfile::tempdir().unwrap();
    let (parts, long) = (folder.path().join("parts"), folder.path().join("long"));
    std::fs::create_dir(&parts).unwrap();
    write(&parts, 100);
    join(&parts, &long, 100, texts_of);
    let reading = Options { speakers: SpeakerRule::One, ..Options::default() };
    let mut corpus = read(&Input::Path(long), &reading).unwrap();
    assert!(corpus.recordings[0].seconds > 125.0, "{}", corpus.recordings[0].seconds);
    let model = AnyModel::Gaussian(Box::new(made.monophones()));
    let pronunciations = &made.pronunciations;
    let job = Job { corpus: &mut corpus, pronunciations, with_scores: false, all_words, threads: one() };
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
    let (corpus, results) = aligned(&made, false, |number| vec![number]);
    let misfits =
        |corpus: &Corpus| corpus.faults.iter().filter(|fault| fault.kind == Kind::TextDoesNotFit).count();
    assert_eq!(misfits(&corpus), 0, "{:?}", corpus.faults);
    assert!(results.utterances.len() > 5 && results.utterances.iter().all(Result::is_ok));
    // The texts of other recordings.
    let (corpus, results) = aligned(&made, false, |number| vec![(37 * number + 11) % 100]);
    let not_aligned = results.utterances.iter().filter(|result| result.is_err()).count();
    assert!(misfits(&corpus) + not_aligned > 0, "{:?}", corpus.faults);
}

#[test]
fn speech_that_the_text_lacks_is_listed() {
    let made = Made::new(20);
    // Recordings of three parts have no text: about four seconds.
    let (corpus, results) = aligned(&made, false, |number| match number {
        50..53 => vec![],
        number => vec![number],
    });
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 100);
    let length = |number: usize| {
        let bytes = std::fs::metadata(folder.path().join(format!("{number:02}.wav"))).unwrap().len() - 44;
        bytes as f64 / 2.0 / f64::from(corpus.recordings[0].rate)
    };
    let begin: f64 = (0..50).map(length).sum();
    let end = begin + (50..53).map(length).sum::<f64>();
    let inside: f64 =
        results.untexted.iter().map(|part| (part.end.min(end) - part.begin.max(begin)).max(0.0)).sum();
    let all: f64 = results.untexted.iter().map(|part| part.end - part.begin).sum();
    assert!(inside > 0.5 * (end - begin) && all - inside < 1.0, "{begin} {end}: {:?}", results.untexted);
    // A text with all words has next to none.
    let (_, results) = aligned(&made, false, |number| vec![number]);
    let all: f64 = results.untexted.iter().map(|part| part.end - part.begin).sum();
    assert!(all < 1.0, "{:?}", results.untexted);
}

/// The number of aligned words.
fn words(results: &Results) -> usize {
    results.utterances.iter().flatten().map(|utterance| utterance.words.len()).sum()
}

#[test]
fn words_are_left_out_with_their_times_or_not_at_all() {
    let made = Made::new(20);
    // The text has three sentences of four words that are not said.
    let texts_of = |number| if number == 50 { vec![50, 13, 77, 31] } else { vec![number] };
    let (corpus, results) = aligned(&made, false, texts_of);
    let left_out: usize = results.left_out.iter().map(|gap| gap.words.len()).sum();
    assert!(left_out >= 3 && words(&results) + left_out == 412, "{:?}", results.left_out);
    let seconds = corpus.recordings[0].seconds;
    for gap in &results.left_out {
        assert!(
            gap.recording == 0 && 0.0 <= gap.begin && gap.begin <= gap.end && gap.end <= seconds,
            "{gap:?}"
        );
        // The words around them are aligned outside of the gap.
        let around = results.utterances.iter().flatten().flat_map(|utterance| &utterance.words);
        assert!(around.clone().any(|word| (word.end - gap.begin).abs() < 0.1 || gap.begin == 0.0), "{gap:?}");
    }
    let told = corpus.faults.iter().find(|fault| fault.kind == Kind::WordsLeftOut).unwrap();
    assert!(told.sentence.starts_with(&format!("{left_out} of 412 words are left out")), "{told}");
    // Without the words that are not said, all can be aligned; with them, nothing may be left out silently.
    let (corpus, results) = aligned(&made, true, |number| vec![number]);
    assert_eq!((words(&results), results.left_out.len()), (400, 0));
    assert!(corpus.faults.iter().all(|fault| fault.kind != Kind::WordsLeftOut), "{:?}", corpus.faults);
    let (_, results) = aligned(&made, true, texts_of);
    let reasons: Vec<&String> =
        results.utterances.iter().filter_map(|result| result.as_ref().err()).collect();
    match reasons[..] {
        [] => assert_eq!((words(&results), results.left_out.len()), (412, 0)),
        [reason] => assert!(reason.contains("even if sound is left out"), "{reason}"),
        _ => panic!("{reasons:?}"),
    }
}
