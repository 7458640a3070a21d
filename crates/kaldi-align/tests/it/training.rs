//! Whole trainings.

use std::num::NonZero;

use kaldi_align::recipe::{Stage, StageKind};
use kaldi_align::{Event, Recipe, System, train};

use crate::speech::{corpus, lang};

/// Short stages.
fn recipe() -> Recipe {
    let short = |stage: Stage| Stage {
        iterations: 9,
        last_increase: 6,
        realign: vec![1, 2, 3, 5, 7],
        transform: if stage.transform.is_empty() { Vec::new() } else { vec![2, 4] },
        ..stage
    };
    let stages = vec![
        short(Stage::monophones(60)),
        short(Stage::triphones(30, 40)),
        short(Stage::lda_mllt(30, 40)),
        short(Stage::sat(30, 40)),
    ];
    Recipe { stages, splice: (1, 1), lda_dim: 8, min_speaker_frames: 100.0, ..Recipe::default() }
}

fn threads(count: usize) -> NonZero<usize> {
    NonZero::new(count).unwrap()
}

fn trained(utterances: &[kaldi_align::Utterance], recipe: &Recipe, count: usize) -> System {
    train(&lang(), utterances, recipe, threads(count), &mut |_: Event| ()).unwrap().system
}

#[test]
fn the_first_and_the_last_stage_find_the_times_of_phones() {
    let lang = lang();
    let (utterances, times) = corpus(&lang, 100, 2);
    for last in [StageKind::Monophones, StageKind::Sat] {
        let mut recipe = recipe();
        let place = recipe.stages.iter().position(|stage| stage.kind == last).unwrap();
        recipe.stages.truncate(place + 1);
        let system = trained(&utterances, &recipe, 2);
        assert_eq!(system.independent.is_some(), last == StageKind::Sat);
        let aligned = system.align(&lang, &utterances, threads(2), &mut |_: Event| ()).unwrap();
        let (mut near, mut all) = (0, 0);
        for ((result, times), utterance) in aligned.results.iter().zip(&times).zip(&utterances) {
            let alignment = result.as_ref().unwrap();
            assert_eq!(alignment.ids.len(), utterance.features.rows);
            assert_eq!(alignment.words.len(), utterance.words.len());
            assert_eq!(alignment.phones.last().unwrap().end, utterance.features.rows);
            let found = alignment.phones.iter().map(|phone| (lang.base_phone(phone.phone), phone.begin));
            let found: Vec<_> = found.filter(|(phone, _)| *phone != "SIL").collect();
            let wanted: Vec<_> = times.iter().filter(|(phone, ..)| phone != "SIL").collect();
            assert_eq!(found.len(), wanted.len());
            for ((phone, begin), (want, begins, _)) in found.iter().zip(wanted) {
                all += 1;
                near += usize::from(phone == want && begin.abs_diff(*begins) <= 2);
            }
        }
        assert!(near * 100 >= all * 85, "{last:?}: {near} of {all} phones are where they should be");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let lang = lang();
    let (utterances, _) = corpus(&lang, 40, 2);
    let one = trained(&utterances, &recipe(), 1);
    let three = trained(&utterances, &recipe(), 3);
    assert_eq!(one, three);
    let align = |count| one.align(&lang, &utterances, threads(count), &mut |_: Event| ()).unwrap();
    let (first, second) = (align(1), align(3));
    assert_eq!(first.results, second.results);
    assert_eq!(first.transforms, second.transforms);
}

#[test]
fn a_saved_system_is_the_same_when_it_is_loaded() {
    let lang = lang();
    let (utterances, _) = corpus(&lang, 30, 2);
    let folder = std::env::temp_dir().join(format!("kaldi-align-{}", std::process::id()));
    for stages in [1, 4] {
        let mut recipe = recipe();
        recipe.stages.truncate(stages);
        let system = trained(&utterances, &recipe, 1);
        let name = folder.join(stages.to_string()).to_string_lossy().into_owned();
        system.save(&name, &lang.phones).unwrap();
        let mut loaded = System::load(&name).unwrap();
        loaded.options = system.options.clone();
        assert_eq!(loaded, system);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn words_have_the_times_of_their_phones() {
    let lang = lang();
    let (utterances, _) = corpus(&lang, 40, 1);
    let mut recipe = recipe();
    recipe.stages.truncate(1);
    let aligned =
        trained(&utterances, &recipe, 1).align(&lang, &utterances, threads(1), &mut |_: Event| ()).unwrap();
    for alignment in aligned.results.iter().flatten() {
        let rounded: Vec<_> =
            alignment.phones.iter().map(|phone| (phone.fine.0.round(), phone.fine.1.round())).collect();
        assert!(rounded.iter().all(|times| times.0 < times.1), "a phone without a frame: {rounded:?}");
        assert!(rounded.windows(2).all(|pair| pair[0].1 == pair[1].0), "{rounded:?}");
        assert_eq!(rounded.last().unwrap().1, alignment.ids.len() as f64);
        for (place, word) in alignment.words.iter().enumerate() {
            let phones: Vec<_> = alignment.phones.iter().filter(|phone| phone.word == Some(place)).collect();
            let names: Vec<i32> = phones.iter().map(|phone| phone.phone).collect();
            let known = |of: &&kaldi_lang::Pronunciation| of.word == word.word as i32 && of.phones == names;
            assert!(lang.pronunciations.iter().any(|of| known(&of)), "{names:?}");
            assert_eq!((phones[0].begin, phones[phones.len() - 1].end), (word.begin, word.end));
        }
        for phone in alignment.phones.iter().filter(|phone| phone.word.is_none()) {
            assert_eq!(phone.phone, lang.optional_silence);
        }
    }
}
