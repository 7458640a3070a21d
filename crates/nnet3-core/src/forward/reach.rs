//! Finds the frames that the outputs of a chunk use. From these follow two facts: padding a chunk with more frames may
//! leave its outputs unchanged, and two consecutive chunks may run as one.
//!
//! Both rest on one rule. An output that is computable from some frames is computable from more of them, and in the
//! same way unless it uses the added ones.

use super::runner::{Shape, request};
use nnet3_base::error::Result;
use nnet3_base::index::NO_TIME;
use nnet3_compiler::graph::{CindexId, GraphBuilder};
use nnet3_network::{Nnet, Node};
use std::collections::HashMap;

/// Number of outputs of the shortest chunk that is examined.
const FEWEST_OUTPUTS: usize = 32;

/// Knows of chunks which frames their outputs use.
pub(super) struct Reach {
    frame_subsampling_factor: usize,
    with_ivectors: bool,
    /// The frames used by the longest chunk examined of each family.
    uses: HashMap<Family, Uses>,
}

/// Chunks of one family differ only in how many outputs they have: a shorter one is the beginning of a longer one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Family {
    first_input: i32,
    /// Number of input frames beyond those of the outputs.
    context: i64,
}

/// Frames that the outputs of a chunk use.
struct Uses {
    /// For each number of first outputs, the last frame that any of them uses; there is one item more than outputs.
    latest: Vec<i32>,
    /// The first frame that this output or any later one uses.
    earliest: Vec<i32>,
}

impl Reach {
    pub fn new(nnet: &Nnet, frame_subsampling_factor: i32) -> Reach {
        let with_ivectors = nnet.input_dim("ivector").is_some();
        let frame_subsampling_factor = frame_subsampling_factor as usize;
        Reach { frame_subsampling_factor, with_ivectors, uses: HashMap::new() }
    }

    /// True if padding a chunk from `short` to `long` changes none of its outputs, because none reads a padded frame.
    pub(crate) fn may_continue(&mut self, nnet: &Nnet, short: &Shape, long: &Shape) -> Result<bool> {
        if self.family(short) != self.family(long) || short.outputs > long.outputs {
            return Ok(false);
        }
        if short == long {
            return Ok(true);
        }
        let Some(uses) = self.uses(nnet, long)? else { return Ok(false) };
        Ok(uses.latest[short.outputs - 1] <= short.last_input())
    }

    /// True if two chunks keep their outputs when they run as one chunk of the shape `joined`. The chunks have the
    /// shapes `first` and then `second`.
    pub(crate) fn may_join(
        &mut self,
        nnet: &Nnet,
        first: &Shape,
        second: &Shape,
        joined: &Shape,
    ) -> Result<bool> {
        let seconds_first_input = second.first_input + (first.outputs * self.frame_subsampling_factor) as i32;
        if first.last_input() > joined.last_input() || seconds_first_input < joined.first_input {
            return Ok(false);
        }
        let Some(uses) = self.uses(nnet, joined)? else { return Ok(false) };
        Ok(uses.latest[first.outputs - 1] <= first.last_input()
            && uses.earliest[first.outputs] >= seconds_first_input)
    }

    /// True if the last output of a long chunk like `shape` uses the chunk's very first frame, as in recurrent
    /// networks.
    pub(crate) fn is_unlimited(&mut self, nnet: &Nnet, shape: &Shape) -> Result<bool> {
        let Some(uses) = self.uses(nnet, shape)? else { return Ok(true) };
        Ok(uses.earliest.last().is_none_or(|&earliest| earliest <= shape.first_input))
    }

    fn family(&self, shape: &Shape) -> Family {
        let stands_for = (shape.outputs * self.frame_subsampling_factor) as i64;
        Family { first_input: shape.first_input, context: shape.inputs as i64 - stands_for }
    }

    /// Returns the frames that the outputs of a chunk use, found on a longer chunk with the same beginning. `None` if
    /// its last outputs would use later frames as well.
    fn uses(&mut self, nnet: &Nnet, shape: &Shape) -> Result<Option<&Uses>> {
        let family = self.family(shape);
        if self.uses.get(&family).is_none_or(|uses| uses.latest.len() < shape.outputs) {
            let outputs = shape.outputs.next_power_of_two().max(FEWEST_OUTPUTS);
            let inputs = shape.inputs + (outputs - shape.outputs) * self.frame_subsampling_factor;
            let longer = Shape { outputs, inputs, ..*shape };
            self.uses.insert(family, self.look_at(nnet, &longer)?);
        }
        let uses = &self.uses[&family];
        Ok((uses.latest[shape.outputs - 1] <= shape.last_input()).then_some(uses))
    }

    fn look_at(&self, nnet: &Nnet, shape: &Shape) -> Result<Uses> {
        let request = request(shape, 1, self.with_ivectors, self.frame_subsampling_factor as i32);
        let mut builder = GraphBuilder::new(nnet);
        builder.compute(&request)?;
        if !builder.all_outputs_are_computable() {
            let everything = (vec![i32::MAX; shape.outputs], vec![i32::MIN; shape.outputs]);
            return Ok(Uses { latest: everything.0, earliest: everything.1 });
        }
        builder.prune();
        let graph = &builder.graph;
        let time = |id: CindexId| graph.cindexes[id as usize].index.t;
        let mut outputs: Vec<CindexId> = (0..graph.cindexes.len() as CindexId)
            .filter(|&id| matches!(nnet.node(graph.cindexes[id as usize].node), Node::Output { .. }))
            .collect();
        outputs.sort_by_key(|&id| time(id));
        let input = nnet.find_node("input");
        // For each output, the extreme frame used by it and by its predecessors in `order`. Frames of predecessors
        // count for it too, so that each cindex is visited once.
        let extremes =
            |order: &mut dyn Iterator<Item = &CindexId>, none: i32, extreme: fn(i32, i32) -> i32| {
                let mut seen = vec![false; graph.cindexes.len()];
                let (mut so_far, mut stack) = (none, Vec::new());
                let mut all = Vec::with_capacity(shape.outputs);
                for &output in order {
                    stack.push(output);
                    while let Some(id) = stack.pop() {
                        if std::mem::replace(&mut seen[id as usize], true) {
                            continue;
                        }
                        if Some(graph.cindexes[id as usize].node) == input && time(id) != NO_TIME {
                            so_far = extreme(so_far, time(id));
                        }
                        stack.extend(graph.dependencies(id));
                    }
                    all.push(so_far);
                }
                all
            };
        let latest = extremes(&mut outputs.iter(), i32::MIN, i32::max);
        let mut earliest = extremes(&mut outputs.iter().rev(), i32::MAX, i32::min);
        earliest.reverse();
        Ok(Uses { latest, earliest })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SPLICED, WITH_IVECTOR, network};
    use super::*;

    const RECURRENT: &str = "
        component name=a type=NaturalGradientAffineComponent input-dim=5 output-dim=3
        input-node name=input dim=2
        component-node name=a component=a input=Append(input, IfDefined(Offset(a, DELAY)))
        output-node name=output input=Offset(a, 1)";

    /// Returns true if further frames do not change the first outputs, measured on the outputs themselves.
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

    /// Joins chunks of 5 outputs with their context, one behind the other.
    fn joins(config: &str) -> bool {
        let nnet = network(config);
        let shape = |outputs: usize| Shape { first_input: -3, inputs: outputs + 4, outputs };
        Reach::new(&nnet, 1).may_join(&nnet, &shape(5), &shape(5), &shape(10)).unwrap()
    }

    #[test]
    fn only_what_never_looks_behind_its_chunk_may_be_joined() {
        assert!(joins(SPLICED));
        assert!(joins(WITH_IVECTOR));
        assert!(!joins(&RECURRENT.replace("DELAY", "-2")), "the state would come from the first chunk");
        assert!(!joins(&RECURRENT.replace("DELAY", "2")), "the state would come from the second chunk");
        let optional = SPLICED.replace("Offset(input, -3)", "Failover(Offset(input, -4), Offset(input, -3))");
        assert!(!joins(&optional), "the second chunk alone does not have the fourth frame before it");
    }

    #[test]
    fn what_lies_outside_of_the_joined_chunk_was_perhaps_used() {
        let nnet = network(SPLICED);
        let plain = |outputs: usize| Shape { first_input: -3, inputs: outputs + 4, outputs };
        let may_join = |first: &Shape, second: &Shape, joined: &Shape| {
            Reach::new(&nnet, 1).may_join(&nnet, first, second, joined).unwrap()
        };
        assert!(may_join(&plain(5), &plain(2), &plain(7)));
        let looks_far_ahead = Shape { inputs: 20, ..plain(5) };
        assert!(!may_join(&looks_far_ahead, &plain(2), &plain(7)));
        let looks_far_back = Shape { first_input: -9, inputs: 12, outputs: 2 };
        assert!(!may_join(&plain(5), &looks_far_back, &plain(7)));
    }

    #[test]
    fn recurrent_networks_have_no_limit() {
        let shape = Shape { first_input: -3, inputs: 9, outputs: 5 };
        let unlimited = |config: &str| {
            let nnet = network(config);
            Reach::new(&nnet, 1).is_unlimited(&nnet, &shape).unwrap()
        };
        assert!(!unlimited(SPLICED));
        assert!(!unlimited(WITH_IVECTOR));
        assert!(unlimited(&RECURRENT.replace("DELAY", "-1")));
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
