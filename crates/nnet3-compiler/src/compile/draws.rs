//! Random numbers that the reference takes while it compiles, for checks of its own.
//!
//! Its compiler draws from the sequence of training: while it builds the graph ([`crate::graph::draws`]), makes precomputed
//! indexes, inserts commands (one number each time), and expands a computation for two sequences (one number for each of up
//! to five rows of each list of indexes). With the same draws here, a training has the reference's random numbers.

use crate::computation::{Backprop, Command, Computation, PrecomputedId, Propagate};
use crate::graph;
use crate::optimize::Stage;
use crate::request::ComputationRequest;
use nnet3_base::index::ComponentId;
use nnet3_base::random::Random;
use nnet3_component::PrecomputedIndexes;
use nnet3_network::Nnet;

/// Passes of which the reference's insert commands.
const INSERTING: [&str; 2] = ["split-row-ops", "memory-compression"];
/// Rows that the expansion of a list of indexes checks.
const CHECKED_ROWS: usize = 5;

/// Takes the numbers of compiling one request.
pub struct Draws<'r> {
    random: &'r Random,
    /// The number of commands before the next pass.
    commands: usize,
}

impl<'r> Draws<'r> {
    /// Takes the numbers of making the commands of a request, before optimisation.
    pub fn begin(
        nnet: &Nnet,
        request: &ComputationRequest,
        computation: &Computation,
        random: &'r Random,
    ) -> Draws<'r> {
        graph::draws::draw(nnet, request, random);
        take(random, of_indexes(nnet, computation, true));
        Draws { random, commands: computation.commands.len() }
    }

    /// Takes the numbers of a pass that has been made.
    pub fn pass(&mut self, stage: &Stage<'_>) {
        let commands = stage.computation.commands.len();
        if INSERTING.contains(&stage.name) && commands > self.commands {
            take(self.random, 1);
        }
        self.commands = commands;
    }
}

/// Takes the numbers of the expansion of `mini` to `expanded`.
pub fn of_expansion(nnet: &Nnet, mini: &Computation, expanded: &Computation, random: &Random) {
    let lists = mini.precomputed.iter().skip(1).flat_map(|p| [&p.input_indexes, &p.output_indexes]);
    let rows: usize = lists.map(|list| list.len().min(CHECKED_ROWS)).sum();
    take(random, rows + of_indexes(nnet, expanded, false));
}

/// Returns the number of numbers for the precomputed indexes of a computation. `reordering`: also for bringing the lists
/// into order before.
fn of_indexes(nnet: &Nnet, computation: &Computation, reordering: bool) -> usize {
    let mut users: Vec<Option<ComponentId>> = vec![None; computation.precomputed.len()];
    for command in &computation.commands {
        match *command {
            Command::Propagate(Propagate { component, precomputed: Some(PrecomputedId(p)), .. })
            | Command::Backprop(Backprop { component, precomputed: Some(PrecomputedId(p)), .. }) => {
                users[p as usize] = Some(component);
            }
            _ => {}
        }
    }
    let draws = |(user, precomputed): (Option<ComponentId>, Option<&dyn PrecomputedIndexes>)| match (
        user,
        precomputed,
    ) {
        (Some(user), Some(indexes)) => nnet.component(user).draws_of_precomputing(indexes, reordering),
        _ => 0,
    };
    users.into_iter().zip(computation.precomputed.iter().map(|p| p.data.as_deref())).map(draws).sum()
}

fn take(random: &Random, count: usize) {
    (0..count).for_each(|_| _ = random.key());
}
