//! Random numbers that the reference takes while it builds a graph (`ComputationGraphBuilder`).
//!
//! It checks the unfinished graph at random: after level d with probability 1/(d+1), and at the end with probability 1/2. A
//! check visits cindexes at random distances of up to a hundredth of their number. Our graphs are checked otherwise; here
//! only the numbers are taken, so that training goes on at the same place of the sequence.

use super::GraphBuilder;
use crate::request::ComputationRequest;
use nnet3_base::random::Random;
use nnet3_network::Nnet;

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

/// Takes the numbers of the graph of a request. (If the graph has no end in the reference's way of building it, the reference
/// fails, and there are no numbers to follow.)
pub(crate) fn draw(nnet: &Nnet, request: &ComputationRequest, random: &Random) {
    let mut draws = Draws::new(random);
    if GraphBuilder::new(nnet).compute_observed(request, &mut |cindexes| draws.level(cindexes)).is_ok() {
        draws.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::IoSpecification;
    use nnet3_base::config::parse_config;

    /// Takes numbers for an output that is its input, from the sequence of seed 1 without its first `skipped` numbers. Returns the
    /// next number.
    fn next(skipped: usize, frames: i32) -> u64 {
        let mut nnet = Nnet::default();
        let config = "input-node name=input dim=1\noutput-node name=output input=input";
        nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
        let request = ComputationRequest {
            inputs: vec![IoSpecification::new("input", 1, 0..frames, false)],
            outputs: vec![IoSpecification::new("output", 1, 0..frames, false)],
            ..Default::default()
        };
        let random = Random::new(1);
        (0..skipped).for_each(|_| _ = random.key());
        draw(&nnet, &request, &random);
        random.key()
    }

    /// The sequence begins with 1804289383, 846930886, 1681692777, 1714636915, 1957747793, 424238335, 719885386, 1649760492,
    /// 596516649, 1189641421, 1025202362. The graph has two levels.
    #[test]
    fn numbers_by_hand() {
        // 1804289383 mod 2, 846930886 mod 3 and 1681692777 mod 2 are 1: no checks.
        assert_eq!(next(0, 1), 1_714_636_915);
        // 846930886 mod 2 is 0: a check takes a number for the second of two cindexes. Then 1714636915 mod 3 and 1957747793
        // mod 2 are 1.
        assert_eq!(next(1, 1), 424_238_335);
        // A check takes three numbers for four cindexes. Then 424238335 mod 3 is 1, and 719885386 mod 2 is 0: another check.
        assert_eq!(next(1, 2), 1_025_202_362);
    }
}
