//! Why an output cannot be computed: the chain of missing inputs, for people.

use super::build::{CindexId, Computable, GraphBuilder};
use crate::index::{Cindex, print_cindex};
use crate::nnet::{Nnet, Node};
use crate::request::ComputationRequest;
use std::collections::HashSet;

impl GraphBuilder<'_> {
    /// A text that names the outputs which are not computable and, for the first of them, what is missing.
    pub fn explain_failure(&self, nnet: &Nnet, request: &ComputationRequest) -> String {
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

    /// The cindexes that `id` needs and that are not computable, one a line, nearest first.
    pub fn explain(&self, nnet: &Nnet, id: CindexId) -> String {
        let print = |id: CindexId| print_cindex(self.graph.cindexes[id as usize], nnet.node_names());
        let mut out = String::new();
        let mut seen = HashSet::from([id]);
        let mut queue = std::collections::VecDeque::from([id]);
        while let Some(id) = queue.pop_front() {
            if seen.len() > 100 {
                out += "...\n";
                break;
            }
            let node = self.graph.cindexes[id as usize].node;
            if let (Node::Input { .. }, false) = (nnet.node(node), self.graph.is_input[id as usize]) {
                out += &format!("{} is not among the inputs given\n", print(id));
                continue;
            }
            let of_status = |status| {
                let dependencies = self.graph.dependencies[id as usize].iter().copied();
                dependencies.filter(|&d| self.computable(d) == status).collect::<Vec<CindexId>>()
            };
            // What was not decided matters only where nothing else is in the way.
            let mut needs = of_status(Computable::No);
            if needs.is_empty() {
                needs = of_status(Computable::Unknown);
            }
            let names: Vec<String> = needs.iter().map(|&d| print(d)).collect();
            let why = match (self.computable(id), names.is_empty()) {
                (Computable::Unknown, _) => format!("depends on itself through {}", names.join(", ")),
                (_, true) => "is not computable".to_string(),
                (_, false) => format!("needs {}", names.join(", ")),
            };
            out += &format!("{} {why}\n", print(id));
            queue.extend(needs.into_iter().filter(|d| seen.insert(*d)));
        }
        out
    }
}
