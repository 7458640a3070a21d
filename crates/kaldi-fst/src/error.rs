//! Errors of operations on FSTs.

use crate::numbers::StateId;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the FST has no start state")]
    Empty,
    #[error("state {state} can be reached from itself, but the FST must not have cycles")]
    Cyclic { state: StateId },
    #[error("state {state} can be reached from itself without a label")]
    EpsilonCycle { state: StateId },
    #[error(
        "an arc of state {state} has input label {ilabel} and output label {olabel}; they must be the same"
    )]
    NotAcceptor { state: StateId, ilabel: i32, olabel: i32 },
    #[error("an arc of state {state} has no label")]
    Epsilon { state: StateId },
    #[error("state {state} has costs, and the FST must have none")]
    Weighted { state: StateId },
    #[error("label {label} is not in the table of codes")]
    NoCode { label: i32 },
    #[error("two arcs of state {state} have label {label}")]
    Nondeterministic { state: StateId, label: i32 },
    #[error(
        "state {state} is reached after {first} and after {second} labels; expected the same number on all paths"
    )]
    UnequalPaths { state: StateId, first: usize, second: usize },
    #[error(
        "final states are reached after {first} and after {second} labels; expected the same number on all paths"
    )]
    UnequalLengths { first: usize, second: usize },
    #[error("state {state} cannot be reached, or leads to no final state")]
    NotConnected { state: StateId },
    #[error("one input has two outputs: the labels {first:?} and the labels {second:?}")]
    NotFunctional { first: Vec<i32>, second: Vec<i32> },
    #[error("the FST is not an n-gram model with back-off: state {state}: {problem}")]
    NotNgram { state: StateId, problem: String },
    #[error("{file}: {problem}")]
    BrokenFile { file: String, problem: String },
    #[error("state {state} is on a cycle of negative cost, or behind one, so there is no cheapest path")]
    NegativeCycle { state: StateId },
    #[error(
        "state {state} is on a cycle of probability 1 or more, or behind one, so the costs of all paths have no sum"
    )]
    NoSum { state: StateId },
    #[error("the rule with label {label} calls itself, so it cannot be expanded")]
    Recursive { label: i32 },
    #[error("the largest label is {}, so no number is free for another label", i32::MAX)]
    NoLabelLeft,
    #[error("the result has more than {limit} states, which is the limit")]
    TooManyStates { limit: usize },
}
