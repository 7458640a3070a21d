//! Steps of sound: the search gets the same ones, whatever pieces the sound comes in.

use super::sentences::piece;

/// Cuts sound into steps of [`PIECE`](super::PIECE) seconds, counted from its beginning. I-vectors and ends of sentences
/// depend on the samples that are there when a step is searched, so words would otherwise depend on the sizes of pieces.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    /// Samples of a step.
    size: usize,
    /// Samples after the last whole step.
    rest: Vec<f32>,
}

impl Steps {
    /// Begins a sound at this rate (in Hz).
    pub fn new(rate: f32) -> Steps {
        Steps { size: piece(rate), rest: Vec::new() }
    }

    /// Takes the next samples, and returns the steps that they complete.
    pub fn add(&mut self, samples: &[f32]) -> Vec<Vec<f32>> {
        self.rest.extend_from_slice(samples);
        let size = self.size.max(1);
        let whole = self.rest.len() - self.rest.len() % size;
        let rest = self.rest.split_off(whole);
        let whole = std::mem::replace(&mut self.rest, rest);
        whole.chunks(size).map(<[f32]>::to_vec).collect()
    }

    /// Returns the samples after the last whole step, for the end of the sound, and forgets them.
    pub fn rest(&mut self) -> Vec<f32> {
        std::mem::take(&mut self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_do_not_depend_on_pieces() {
        let sound: Vec<f32> = (0..1013u16).map(f32::from).collect();
        for size in [1, 7, 199, 200, 201, 1000, 1013] {
            let mut steps = Steps::new(1000.0);
            let mut found: Vec<Vec<f32>> = sound.chunks(size).flat_map(|piece| steps.add(piece)).collect();
            assert!(found.iter().all(|step| step.len() == 200), "pieces of {size}");
            found.push(steps.rest());
            assert_eq!(found.concat(), sound, "pieces of {size}");
            assert!(steps.rest().is_empty() && steps.add(&[]).is_empty());
        }
    }
}
