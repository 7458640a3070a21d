//! Explains why an output can or cannot be computed: the chain of its dependencies, for people.

use super::CindexId;
use super::build::{Computable, GraphBuilder};
use super::context::FrameContext;
use crate::request::{ComputationRequest, IoSpecification};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{Cindex, Index, NodeId, print_cindex, print_cindexes, print_indexes};
use nnet3_network::{Nnet, Node};
use std::collections::HashSet;

/// Longest explanation, in lines.
const MAX_LINES: usize = 100;

/// Explains if the output node `name` can be computed at `index` from the inputs of the request (its outputs do not
/// matter). The text shows the sources of the output, or the missing ones. Fails if there is no such output.
pub fn explain_output(nnet: &Nnet, request: &ComputationRequest, name: &str, index: Index) -> Result<String> {
    let Some(node) = nnet.find_output(name) else {
        let names: Vec<&str> = nnet.output_nodes().map(|id| nnet.node_name(id)).collect();
        return Err(Error::Request(format!(
            "the network has no output '{name}'; its outputs are {}",
            names.join(", ")
        )));
    };
    let wanted = IoSpecification { name: name.to_string(), indexes: vec![index], has_deriv: false };
    let only =
        ComputationRequest { inputs: request.inputs.clone(), outputs: vec![wanted], ..Default::default() };
    let mut builder = GraphBuilder::new(nnet);
    builder.compute(&only)?;
    let cindex = Cindex::new(node, index);
    let text = print_cindex(cindex, nnet.node_names());
    let asked_for = request.output(name).is_some_and(|io| io.indexes.contains(&index));
    let note = if asked_for { "" } else { " (the request does not ask for it)" };
    if builder.all_outputs_are_computable() {
        builder.prune();
        let chain = builder.explain_success(nnet, cindex);
        return Ok(format!("{text} can be computed from the inputs given{note}.\n{chain}"));
    }
    let mut out = format!("{text} cannot be computed from the inputs given{note}.\n");
    for io in &request.inputs {
        out += &format!("given: {} at {}\n", io.name, print_indexes(&io.indexes));
    }
    if let Some(id) = builder.graph.find(cindex) {
        out += &builder.explain(nnet, id);
    }
    Ok(out)
}

/// A sentence that tells the user how to give enough context; empty if the inputs of a simple network have enough.
pub(super) fn context_hint(nnet: &Nnet, request: &ComputationRequest) -> String {
    let times = |io: Option<&IoSpecification>| {
        let times = io?.indexes.iter().map(|index| index.t);
        times.clone().min().zip(times.max())
    };
    let (Some((first, last)), Some((first_out, last_out))) =
        (times(request.input("input")), times(request.output("output")))
    else {
        return String::new();
    };
    // (This is a request of its own; all of its frames may be missing.)
    let Ok((left, right)) = nnet.context() else { return String::new() };
    let (from, to) = (first_out.saturating_sub(left), last_out.saturating_add(right));
    if first <= from && to <= last {
        return String::new();
    }
    format!(
        "The network needs 'input' from t={from} to t={to} for these outputs, and has it from t={first} to t={last}: examples \
         with a left context of {left} frames and a right context of {right} or more would do.\n"
    )
}

/// The output and index of a text such as `output:0,3` (n and t) or `output:0,3,1` (n, t and x).
pub fn parse_output(text: &str) -> Result<(&str, Index)> {
    let wrong = || Error::Request(format!("'{text}': expected NODE:N,T or NODE:N,T,X, such as output:0,3"));
    let (name, numbers) = text.rsplit_once(':').ok_or_else(wrong)?;
    let numbers: Vec<i32> =
        numbers.split(',').map(|n| n.trim().parse().map_err(|_| wrong())).collect::<Result<_>>()?;
    match numbers[..] {
        [n, t] => Ok((name, Index::new(n, t, 0))),
        [n, t, x] => Ok((name, Index::new(n, t, x))),
        _ => Err(wrong()),
    }
}

impl GraphBuilder<'_> {
    /// Returns a text that names the outputs which are not computable. For the first of them it lists the missing
    /// dependencies.
    pub(crate) fn explain_failure(&self, nnet: &Nnet, request: &ComputationRequest) -> String {
        let mut missing = Vec::new();
        let mut total = 0;
        for io in &request.outputs {
            for &index in &io.indexes {
                total += 1;
                let id =
                    nnet.find_output(&io.name).and_then(|node| self.graph.find(Cindex::new(node, index)));
                if let Some(id) = id.filter(|&id| self.computable(id) != Computable::Yes) {
                    missing.push(id);
                }
            }
        }
        let mut out = format!(
            "{} of {total} requested output rows cannot be computed from the inputs given.\n",
            missing.len()
        );
        out += &request.to_string();
        if let Some(&first) = missing.first() {
            out += &self.explain(nnet, first);
        }
        out
    }

    /// Describes the needs of `id` and those among them that are not computable, nearest first, cindexes of a node
    /// together.
    pub fn explain(&self, nnet: &Nnet, id: CindexId) -> String {
        let (chain, ends) = self.walk(nnet, id, |id| {
            let node = self.graph.cindexes[id as usize].node;
            if let (Node::Input { .. }, false) = (nnet.node(node), self.graph.is_input[id as usize]) {
                return (NOT_GIVEN, Vec::new());
            }
            let of_status = |status| {
                let dependencies = self.graph.dependencies(id).iter().copied();
                dependencies.filter(|&d| self.computable(d) == status).collect::<Vec<CindexId>>()
            };
            // Undecided cindexes matter only if no cindex is known to be uncomputable.
            let mut needs = of_status(Computable::No);
            if needs.is_empty() {
                needs = of_status(Computable::Unknown);
            }
            match (self.computable(id), needs.is_empty()) {
                (Computable::Unknown, _) => ("depends on itself through", needs),
                (_, true) => ("is not computable", needs),
                (_, false) => ("needs", needs),
            }
        });
        match ends.is_empty() {
            true => chain,
            false => format!("{chain}missing rows of inputs: {}: {}\n", ends.len(), self.names(nnet, ends)),
        }
    }

    /// Describes the sources of a computable cindex in a pruned graph, nearest first, cindexes of a node together. Then
    /// lists the rows of inputs that it finally uses.
    fn explain_success(&self, nnet: &Nnet, cindex: Cindex) -> String {
        let Some(id) = self.graph.find(cindex) else {
            return String::new();
        };
        let (chain, ends) = self.walk(nnet, id, |id| {
            let from = self.graph.dependencies(id).to_vec();
            match (self.graph.is_input[id as usize], from.is_empty()) {
                (true, _) => (GIVEN, Vec::new()),
                (false, true) => ("needs nothing", from),
                (false, false) => ("from", from),
            }
        });
        match ends.is_empty() {
            true => chain,
            false => format!("{chain}rows of inputs used: {}: {}\n", ends.len(), self.names(nnet, ends)),
        }
    }

    /// Walks breadth first from `id`. `step` returns the label of each cindex, and the next cindexes to visit. Cindexes
    /// of a node at the same distance with the same label share a line. Returns the lines, and the inputs at the ends.
    fn walk(
        &self,
        nnet: &Nnet,
        id: CindexId,
        step: impl Fn(CindexId) -> (&'static str, Vec<CindexId>),
    ) -> (String, Vec<CindexId>) {
        let mut lines = Vec::new();
        let mut ends = Vec::new();
        let mut seen = HashSet::from([id]);
        let mut level = vec![id];
        while !level.is_empty() {
            let mut groups: Vec<Group> = Vec::new();
            for id in level {
                let (what, next) = step(id);
                if what == GIVEN || what == NOT_GIVEN {
                    ends.push(id);
                }
                let node = self.graph.cindexes[id as usize].node;
                match groups.iter_mut().find(|group| (group.node, group.what) == (node, what)) {
                    Some(group) => {
                        group.ids.push(id);
                        group.next.extend(next);
                    }
                    None => groups.push(Group { node, what, ids: vec![id], next }),
                }
            }
            level = Vec::new();
            for Group { what, ids, next, .. } in groups {
                let to = if next.is_empty() {
                    String::new()
                } else {
                    " ".to_string() + &self.names(nnet, next.clone())
                };
                lines.push(format!("{} {what}{to}\n", self.names(nnet, ids)));
                level.extend(next.into_iter().filter(|d| seen.insert(*d)));
            }
        }
        let more = lines.len().saturating_sub(MAX_LINES);
        let mut text: String = lines.into_iter().take(MAX_LINES).collect();
        if more > 0 {
            text += &format!("... and {more} more lines\n");
        }
        (text, ends)
    }

    /// `a(0,1), b[(0,-1:1)]`
    fn names(&self, nnet: &Nnet, ids: Vec<CindexId>) -> String {
        let mut cindexes: Vec<Cindex> = ids.into_iter().map(|id| self.graph.cindexes[id as usize]).collect();
        cindexes.sort_unstable();
        cindexes.dedup();
        let names = nnet.node_names();
        let run = |run: &[Cindex]| match run {
            [one] => print_cindex(*one, names),
            more => print_cindexes(more, names),
        };
        cindexes.chunk_by(|a, b| a.node == b.node).map(run).collect::<Vec<_>>().join(", ")
    }
}

const GIVEN: &str = "is given";
const NOT_GIVEN: &str = "is not among the inputs given";

/// Cindexes of a node with the same label.
struct Group {
    node: NodeId,
    what: &'static str,
    ids: Vec<CindexId>,
    /// The cindexes that come next in the chain.
    next: Vec<CindexId>,
}
