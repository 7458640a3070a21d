//! The phone of a model that stands for anything spoken.

use kaldi_align::System;
use kaldi_corpus::Corpus;
use kaldi_fst::store::Symbols;
use kaldi_hmm::TransitionModel;

use crate::pronunciations::{Pronunciations, Unknown};
use crate::settings::SilenceSettings;

/// Ends of names of phones by their places in words.
const PLACES: [&str; 5] = ["", "_B", "_I", "_E", "_S"];

/// The name of the phone; `None` if the model has none.
pub(crate) fn phone(
    phones: &Symbols,
    silence: &SilenceSettings,
    pronunciations: &Pronunciations,
) -> Option<String> {
    let known =
        |phone: &str| ["", "_S"].iter().any(|place| phones.number(&format!("{phone}{place}")).is_some());
    let own = pronunciations.spoken.as_str();
    let names = [own].into_iter().chain(silence.spoken.as_deref()).chain(["SPN", "spn", "GBG"]);
    names.into_iter().find(|name| known(name)).map(str::to_owned)
}

/// True if the model was trained without sound of the phone: each of its transitions has the probability of the topology, as
/// training leaves those without frames. (A model of which all transitions have these was not trained that way: false.)
fn is_untrained(system: &System, phones: &Symbols, name: &str) -> bool {
    let transitions = &system.model.transitions;
    let numbers: Vec<i64> =
        PLACES.iter().filter_map(|place| phones.number(&format!("{name}{place}"))).collect();
    let (own, others): (Vec<usize>, Vec<usize>) = (0..transitions.states().len())
        .partition(|&state| numbers.contains(&i64::from(transitions.states()[state].phone)));
    !own.is_empty()
        && own.into_iter().all(|state| has_first_probabilities(transitions, state))
        && !others.into_iter().all(|state| has_first_probabilities(transitions, state))
}

/// True if the transitions out of a state have the probabilities of the topology.
fn has_first_probabilities(transitions: &TransitionModel, state: usize) -> bool {
    let of = &transitions.states()[state];
    let Some(entry) = transitions.topology().entry(of.phone) else { return false };
    let first = &entry[of.hmm_state].transitions;
    let mut ids = transitions.ids_of_state(state).zip(first);
    // (Probabilities are stored with six digits in text models.)
    ids.all(|(id, (_, probability))| (transitions.log_prob(id).exp() - probability).abs() < 1e-5)
}

/// A sentence about words that are aligned by a phone which the model was trained without; `None` if there are none.
pub(crate) fn warning(
    (system, phones, silence): (&System, &Symbols, &SilenceSettings),
    pronunciations: &Pronunciations,
    unknown: Unknown,
    corpus: &Corpus,
) -> Option<String> {
    let name = phone(phones, silence, pronunciations)?;
    if !is_untrained(system, phones, &name) {
        return None;
    }
    let words = corpus.utterances.iter().flat_map(|utterance| utterance.text.split(' '));
    let mut found = words.filter(|word| !word.is_empty() && pronunciations.is_any_speech(word)).peekable();
    let first = (*found.peek()?).to_owned();
    let count = kaldi_io::text::count(found.count(), "word");
    // (Words with digits and noises have no letters to guess from, and a lexicon of letters teaches nothing.)
    let ways = match (unknown, pronunciations.is_of_letters()) {
        (Unknown::Spoken | Unknown::Skip, true) => {
            "`unknown-words`=letters takes the letters that are phones, "
        }
        (Unknown::Spoken | Unknown::Skip, false) => {
            "`unknown-words`=letters or g2p gives words of letters phones, "
        }
        (Unknown::Letters, false) => "`unknown-words`=g2p guesses phones of words of letters, ",
        (Unknown::Letters, true) | (Unknown::G2p, _) => "",
    };
    Some(format!(
        "{count} of the texts, such as '{first}', would be aligned by the phone '{name}', which stands for anything spoken; but \
         the model was trained without sound of it, so that their times and those beside them are poor. {ways}\
         `unknown-words`=skip leaves their utterances out"
    ))
}
