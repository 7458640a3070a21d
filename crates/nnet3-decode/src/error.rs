//! Errors of operations on lattices.

use kaldi_fst::StateId;

use crate::align::PhoneType;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("the lattice is empty")]
    Empty,
    #[error("the lattice has a cycle, so it cannot be sorted topologically")]
    Cyclic,
    #[error(
        "state {state} of the lattice has the costs {graph} and {acoustic}, which are not a valid weight (check the scales)"
    )]
    Weight { state: StateId, graph: f32, acoustic: f32 },
    #[error("scaled costs of the lattice are too large to be written (check the scales)")]
    TooLarge,
    #[error("no path of the lattice leads to a final state")]
    NoPath,
    #[error("state {state} of the lattice is reached after {first} and after {second} frames")]
    UnequalTimes { state: StateId, first: usize, second: usize },
    #[error("paths of the lattice end after {first} and after {second} frames")]
    UnequalLengths { first: usize, second: usize },
    #[error("state {state} of the lattice has more than one arc; expected a linear lattice (one path)")]
    NotLinear { state: StateId },
    #[error(
        "the lattice has the transition-id {found}, but the model has {last}, so it was made with another model"
    )]
    TransitionId { found: i32, last: usize },
    #[error("word {word} is not present in the lexicon")]
    NotInLexicon { word: i32 },
    #[error(
        "the file has no line for phone {phone} of the model; expected '{phone} TYPE' with one of the types nonword, begin, end, internal, singleton"
    )]
    NoPhoneType { phone: i32 },
    #[error(
        "phone {phone} has the type '{found}', but no phone of the model has the type '{missing}', so words with it would \
         be lost"
    )]
    PhoneTypes { phone: i32, found: PhoneType, missing: PhoneType },
    #[error("all phones of the model have the type 'nonword', so every word would be lost")]
    NoPhoneOfWords,
    #[error("the graph is empty")]
    EmptyGraph,
    #[error(
        "state {state} of the graph has an arc with the transition-id {label}, but the model has {last}, so the graph was \
         made for another model"
    )]
    GraphLabel { state: StateId, label: i32, last: usize },
    #[error("the graph has a cycle without transition-ids and with negative cost through state {state}")]
    EpsilonCycle { state: StateId },
    #[error("arcs with the backoff label {label} form a cycle through state {state} of the FST")]
    BackOffCycle { state: StateId, label: i32 },
    #[error("an output label of the first is {label}, the label of arcs for other words in the second")]
    SpecialWord { label: i32 },
    #[error("the lattice has {found} frames, but the alignment {expected}")]
    AlignmentLength { found: usize, expected: usize },
    #[error("the log-likelihoods have {found} columns, but the model has {needed} pdfs")]
    TooFewColumns { found: usize, needed: usize },
    #[error("determinization looped more than {max_loop} times in an epsilon closure (--max-loop)")]
    Looped { max_loop: i32 },
    /// A limit that makes no sense. Programs have options of the same names.
    #[error("{name}={found}: expected {expected}")]
    Option { name: &'static str, found: String, expected: String },
    /// The fault of a graph's file.
    #[error("{0}")]
    BrokenGraph(String),
    #[error("{0}")]
    Data(String),
}

impl Error {
    pub(crate) fn option(name: &'static str, found: impl ToString, expected: impl Into<String>) -> Error {
        Error::Option { name, found: found.to_string(), expected: expected.into() }
    }
}
