//! Random numbers that the reference takes while it builds a graph (`ComputationGraphBuilder`).
//!
//! It checks the unfinished graph at random: after level d with probability 1/(d+1), and at the end with probability 1/2. A
//! check visits cindexes at random distances of up to a hundredth of their number. Our graphs are checked otherwise; here
//! only the numbers are taken, so that training goes on at the same place of the sequence.

use super::GraphBuilder;
use crate::error::Result;
use crate::nnet::Nnet;
use crate::random::Random;
use crate::request::ComputationRequest;

/// Takes the numbers of one graph.
pub(crate) struct Draws<'r> {
    random: &'r Random,
    levels: i32,
    cindexes: usize,
}

impl<'r> Draws<'r> {
    pub fn new(random: &'r Random) -> Draws<'r> {
        Draws { random, levels: 0, cindexes: 0 }
    }

    /// Takes the numbers of a level, after which there are so many cindexes.
    pub fn level(&mut self, cindexes: usize) {
        self.levels += 1;
        self.cindexes = cindexes;
        if self.random.int(1, self.levels + 1) == 1 {
            self.check();
        }
    }

    /// Takes the numbers at the end.
    pub fn finish(self) {
        if self.random.int(1, 2) == 1 {
            self.check();
        }
    }

    fn check(&self) {
        let most = (self.cindexes / 100) as i32;
        let mut id = 0;
        while id < self.cindexes {
            self.random.int(0, id as i32);
            id += 1 + self.random.int(0, most) as usize;
        }
    }
}

/// Takes the numbers of the graph of a request.
pub(crate) fn draw(nnet: &Nnet, request: &ComputationRequest, random: &Random) -> Result<()> {
    let mut draws = Draws::new(random);
    GraphBuilder::new(nnet).compute_observed(request, &mut |cindexes| draws.level(cindexes))?;
    draws.finish();
    Ok(())
}
