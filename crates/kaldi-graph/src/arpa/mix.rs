//! Linear interpolation of language models into one model with backoff weights.
//!
//! The mixture has the n-grams of all models, each with the weighted sum of the models' probabilities. A model gives 0 to a
//! word that it lacks. The backoff weight of a history h is (1 − Σ P(w|h)) / (1 − Σ P(w|h′)). Here h′ is h without its first
//! word, and sums are over the words w that follow h in the mixture. So probabilities behind each history sum to 1 if they do
//! in the models.

use super::backoff::{BackoffModel, EMPTY, Node, Vocabulary};

/// The least probability of all words that a history has no n-gram for. (Rounding may take the sum of the others above
/// 1.)
const LEAST_LEFT: f64 = 1e-9;

/// Returns the mixture of models with these weights, which should sum to 1.
pub fn mix(models: &[(f64, &BackoffModel)], vocabulary: &Vocabulary) -> BackoffModel {
    let mut mixture = BackoffModel::default();
    let mut words = Vec::new();
    for (_, model) in models {
        for node in 1..model.entries.len() as Node {
            model.words_of(node, &mut words);
            mixture.node_or_add(&words);
        }
    }
    for node in 1..mixture.entries.len() as Node {
        mixture.words_of(node, &mut words);
        let Some((&word, history)) = words.split_last() else { continue };
        let share = |(weight, model): &(f64, &BackoffModel)| {
            let log_prob = model.log_prob(history, word);
            log_prob.map_or(0.0, |log_prob| weight * f64::from(log_prob).exp())
        };
        let probability: f64 = models.iter().map(share).sum();
        mixture.entries[node as usize].log_prob =
            if word == vocabulary.begin { f32::NEG_INFINITY } else { probability.ln() as f32 };
    }
    set_backoff_weights(&mut mixture);
    mixture
}

fn set_backoff_weights(model: &mut BackoffModel) {
    let mut behind: Vec<Vec<Node>> = vec![Vec::new(); model.entries.len()];
    for (node, entry) in (0..).zip(&model.entries).skip(1) {
        behind[entry.history as usize].push(node);
    }
    let mut histories: Vec<Node> =
        (1..model.entries.len() as Node).filter(|&node| !behind[node as usize].is_empty()).collect();
    // Shorter histories come first: longer ones back off to them.
    histories.sort_by_key(|&node| model.entries[node as usize].length);
    let mut words = Vec::new();
    for history in histories {
        model.words_of(history, &mut words);
        let shorter = &words[1..];
        let (mut given, mut elsewhere) = (0.0, 0.0);
        for &node in &behind[history as usize] {
            let entry = &model.entries[node as usize];
            given += f64::from(entry.log_prob).exp();
            elsewhere +=
                model.log_prob(shorter, entry.word).map_or(0.0, |log_prob| f64::from(log_prob).exp());
        }
        let weight = (1.0 - given).max(LEAST_LEFT) / (1.0 - elsewhere).max(LEAST_LEFT);
        if history != EMPTY {
            model.entries[history as usize].backoff = weight.ln() as f32;
        }
    }
}
