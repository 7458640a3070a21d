//! Statistics of phones in context from features and alignments (`hmm/tree-accu.cc`).

use crate::error::{Error, Result};
use crate::gauss::Gauss;
use crate::phone_sets::PhoneMap;
use crate::stats::{EventVec, TreeStats};
use kaldi_hmm::TransitionModel;
use kaldi_hmm::event_map::PDF_CLASS;
use kaldi_io::DenseMatrix;
use std::collections::HashMap;

#[derive(Debug, Clone, PartialEq)]
pub struct AccumulateOptions {
    /// Variances below this count as this.
    pub var_floor: f32,
    /// Phones with statistics that do not depend on their neighbours (after mapping), sorted.
    pub context_independent: Vec<i32>,
    /// Number of phones of an event, and the position, from 0, of the phone with the statistics.
    pub context_width: usize,
    pub central_position: usize,
    /// Mapping of the model's phones.
    pub phone_map: Option<PhoneMap>,
}

/// Collects statistics of utterances.
pub struct Accumulator {
    options: AccumulateOptions,
    index: HashMap<EventVec, usize>,
    stats: Vec<Gauss>,
}

impl Accumulator {
    pub fn new(options: AccumulateOptions) -> Result<Accumulator> {
        let (width, central) = (options.context_width, options.central_position);
        if central >= width {
            return Err(Error::value(format!(
                "the central position {central} is not within the context width {width}"
            )));
        }
        Ok(Accumulator { options, index: HashMap::new(), stats: Vec::new() })
    }

    /// Adds an utterance: a transition-id for each row of the features. An error adds no part of it.
    pub fn add(
        &mut self,
        model: &TransitionModel,
        alignment: &[i32],
        features: &DenseMatrix<f32>,
    ) -> Result<()> {
        if alignment.len() != features.rows {
            return Err(Error::stats(format!(
                "the alignment has {} frames, the features have {}",
                alignment.len(),
                features.rows
            )));
        }
        if let Some(dim) = self.stats.first().map(Gauss::dim).filter(|&dim| dim != features.cols) {
            return Err(Error::stats(format!(
                "the features have {} columns, those before had {dim}",
                features.cols
            )));
        }
        let ids = model.transition_ids(alignment)?;
        let segments = model.split_to_complete_phones(&ids)?;
        let phones = segments.iter().map(|segment| self.map(segment.phone)).collect::<Result<Vec<i32>>>()?;
        for (at, segment) in segments.iter().enumerate() {
            let window = self.window(&phones, at);
            let mut last = None;
            for frame in segment.frames.clone() {
                let class = model.pdf_class(ids[frame]);
                let place = match last {
                    Some((last_class, place)) if last_class == class => place,
                    _ => self.place(class, &window, features.cols),
                };
                last = Some((class, place));
                self.stats[place].add_frame(features.row(frame));
            }
        }
        Ok(())
    }

    fn map(&self, phone: i32) -> Result<i32> {
        let Some(map) = &self.options.phone_map else { return Ok(phone) };
        map.get(phone).ok_or_else(|| Error::stats(format!("the map of phones does not have phone {phone}")))
    }

    /// Returns the phones around position `at`, by position in the window; 0 is a position beyond the utterance. If the
    /// phone does not depend on its context, the result has only the phone.
    fn window(&self, phones: &[i32], at: usize) -> EventVec {
        let (width, central) = (self.options.context_width, self.options.central_position);
        let alone = self.options.context_independent.binary_search(&phones[at]).is_ok();
        let positions = (0..width).filter(|&position| !alone || position == central);
        let phone = |position: usize| (at + position).checked_sub(central).and_then(|at| phones.get(at));
        positions.map(|position| (position as i32, phone(position).copied().unwrap_or(0))).collect()
    }

    /// Returns the place of the statistics for a pdf class in a window.
    fn place(&mut self, class: i32, window: &EventVec, dim: usize) -> usize {
        let mut event = Vec::with_capacity(window.len() + 1);
        event.push((PDF_CLASS, class));
        event.extend_from_slice(window);
        let next = self.stats.len();
        let place = *self.index.entry(event).or_insert(next);
        if place == next {
            self.stats.push(Gauss::new(dim, self.options.var_floor));
        }
        place
    }

    /// The statistics, sorted by event.
    pub fn finish(self) -> TreeStats<Gauss> {
        let mut stats: Vec<Option<Gauss>> = self.stats.into_iter().map(Some).collect();
        let mut entries: Vec<(EventVec, Gauss)> =
            self.index.into_iter().filter_map(|(event, place)| Some((event, stats[place].take()?))).collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        TreeStats { entries }
    }
}
