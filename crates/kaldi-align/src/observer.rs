//! Events of a training, for those who watch it.

use crate::error::Reason;
use crate::recipe::StageKind;

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A stage begins with these utterances, and the largest numbers of leaves and Gaussians that it may have.
    Stage {
        kind: StageKind,
        utterances: usize,
        frames: usize,
        leaves: usize,
        gaussians: usize,
    },
    /// An alignment of all utterances.
    Aligned {
        aligned: usize,
        retried: usize,
        failed: usize,
    },
    /// The end of an iteration: the log-likelihood of a frame before the update, and Gaussians after it.
    Iteration {
        number: usize,
        of: usize,
        log_likelihood: f64,
        frames: f64,
        gaussians: usize,
    },
    /// A tree was built.
    Tree {
        leaves: usize,
    },
    /// Transforms of speakers were estimated; so many speakers have too little speech.
    Transforms {
        speakers: usize,
        without: usize,
        improvement: f64,
    },
    Message(String),
    Warning(String),
    /// A remark of tree building, for readers who know how trees are built. A large corpus has hundreds.
    Detail {
        text: String,
        is_warning: bool,
    },
    /// So much of the work is done, from 0 to 1.
    Progress(f64),
}

/// Hears events.
pub trait Observer {
    fn event(&mut self, event: Event);
}

impl<F: FnMut(Event)> Observer for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}

/// Counts reasons by their names.
pub fn count<'a>(
    reasons: impl Iterator<Item = &'a Reason>,
) -> std::collections::BTreeMap<&'static str, usize> {
    let mut counts = std::collections::BTreeMap::new();
    reasons.for_each(|reason| *counts.entry(reason.name()).or_default() += 1);
    counts
}
