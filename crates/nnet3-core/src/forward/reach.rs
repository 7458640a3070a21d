//! Which chunks may be continued with more frames without a change to the outputs that they have.

use super::runner::{Shape, request};
use crate::error::Result;
use crate::graph::{CindexId, GraphBuilder};
use crate::index::NO_TIME;
use crate::nnet::{Nnet, Node};
use std::collections::HashMap;

/// Knows of chunks how far into the future their outputs look.
pub(super) struct Reach {
    frame_subsampling_factor: i32,
    with_ivectors: bool,
    /// For each shape and number of outputs, the latest input frame that so many first outputs use.
    latest: HashMap<Shape, Vec<i32>>,
}

impl Reach {
    pub fn new(nnet: &Nnet, frame_subsampling_factor: i32) -> Reach {
        let with_ivectors = nnet.input_dim("ivector").is_some();
        Reach { frame_subsampling_factor, with_ivectors, latest: HashMap::new() }
    }

    /// Whether a chunk of the shape `short` has the same outputs if it is continued to the shape `long`, of which it is a
    /// beginning: none of its outputs there uses a frame that it does not have. (What is computable from a chunk's own
    /// frames is computable from more of them, in the same way unless it uses those.)
    pub fn may_continue(&mut self, nnet: &Nnet, short: &Shape, long: &Shape) -> Result<bool> {
        if short.first_input != long.first_input || short.outputs > long.outputs {
            return Ok(false);
        }
        if short == long {
            return Ok(true);
        }
        if !self.latest.contains_key(long) {
            self.latest.insert(*long, self.latest_inputs(nnet, long)?);
        }
        let last_input = short.first_input + short.inputs as i32 - 1;
        Ok(self.latest[long][short.outputs - 1] <= last_input)
    }

    fn latest_inputs(&self, nnet: &Nnet, shape: &Shape) -> Result<Vec<i32>> {
        let request = request(shape, 1, self.with_ivectors, self.frame_subsampling_factor);
        let mut builder = GraphBuilder::new(nnet);
        builder.compute(&request)?;
        if !builder.all_outputs_are_computable() {
            return Ok(vec![i32::MAX; shape.outputs]);
        }
        builder.prune();
        let graph = &builder.graph;
        let mut outputs: Vec<CindexId> = (0..graph.cindexes.len() as CindexId)
            .filter(|&id| matches!(nnet.node(graph.cindexes[id as usize].node), Node::Output { .. }))
            .collect();
        outputs.sort_by_key(|&id| graph.cindexes[id as usize].index.t);
        // What earlier outputs use counts for later ones too, so each cindex is visited once.
        let mut seen = vec![false; graph.cindexes.len()];
        let (mut latest, mut stack) = (i32::MIN, Vec::new());
        let mut latest_of = |output| {
            stack.push(output);
            while let Some(id) = stack.pop() {
                if std::mem::replace(&mut seen[id as usize], true) {
                    continue;
                }
                let t = graph.cindexes[id as usize].index.t;
                if graph.is_input[id as usize] && t != NO_TIME {
                    latest = latest.max(t);
                }
                stack.extend(graph.dependencies(id));
            }
            latest
        };
        Ok(outputs.into_iter().map(&mut latest_of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SPLICED, network};
    use super::*;

    const RECURRENT: &str = "
        component name=a type=NaturalGradientAffineComponent input-dim=5 output-dim=3
        input-node name=input dim=2
        component-node name=a component=a input=Append(input, IfDefined(Offset(a, DELAY)))
        output-node name=output input=Offset(a, 1)";

    /// What frames more change in the first outputs, by the outputs themselves.
    fn continues(config: &str) -> bool {
        let nnet = network(config);
        let shape = |outputs: i32| Shape {
            first_input: -3,
            inputs: (outputs + 4) as usize,
            outputs: outputs as usize,
        };
        let (short, long) = (shape(5), shape(9));
        let mut reach = Reach::new(&nnet, 1);
        assert!(reach.may_continue(&nnet, &long, &long).unwrap());
        assert!(!reach.may_continue(&nnet, &long, &short).unwrap());
        reach.may_continue(&nnet, &short, &long).unwrap()
    }

    #[test]
    fn only_what_never_looks_ahead_may_be_continued() {
        assert!(continues(SPLICED));
        assert!(continues(&RECURRENT.replace("DELAY", "-2")));
        assert!(!continues(&RECURRENT.replace("DELAY", "2")), "the future is used where it is there");
        let pooled = "
            input-node name=input dim=2
            component name=x type=StatisticsExtractionComponent input-dim=2 input-period=1 output-period=1
            component-node name=x component=x input=input
            component name=p type=StatisticsPoolingComponent input-dim=5 input-period=1 left-context=3 \
              right-context=90 num-log-count-features=0 output-stddevs=true
            component-node name=p component=p input=x
            output-node name=output input=p";
        assert!(!continues(pooled));
    }
}
