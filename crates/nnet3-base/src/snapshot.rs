//! The exact state of a run besides parameters. Model files hold only averages of statistics, and no state of natural
//! gradient.
//!
//! A [`Keeper`] goes over all of it in a fixed order, and either takes it or puts it back, with the same function.

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;
use nnet3_matrix::{Accumulator, Device, Factor, Matrix};

/// The state, in the order in which it is put back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub numbers: Vec<f64>,
    pub texts: Vec<String>,
    pub matrices: Vec<DenseMatrix<f32>>,
}

/// Counts go through `f64`, which has all of these.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;

/// Takes a snapshot, or puts it back.
pub struct Keeper<'s> {
    mode: Mode<'s>,
}

enum Mode<'s> {
    Takes(&'s mut Snapshot),
    Gives {
        snapshot: &'s Snapshot,
        /// Numbers of values of each kind that have been put back.
        numbers: usize,
        texts: usize,
        matrices: usize,
        device: Device,
        /// 1, on the device.
        one: Matrix,
    },
}

impl<'s> Keeper<'s> {
    /// Makes a keeper that adds each visited value to the snapshot.
    pub fn taking(snapshot: &'s mut Snapshot) -> Keeper<'s> {
        Keeper { mode: Mode::Takes(snapshot) }
    }

    /// Makes a keeper that puts back the state of a run, which may have been on another device.
    pub fn giving(snapshot: &'s Snapshot, device: &Device) -> Keeper<'s> {
        let (device, one) = (device.clone(), Matrix::from_slice(device, 1, 1, &[1.0]));
        Keeper { mode: Mode::Gives { snapshot, numbers: 0, texts: 0, matrices: 0, device, one } }
    }

    /// The device that things are put back to.
    pub fn device(&self) -> Option<&Device> {
        match &self.mode {
            Mode::Takes(_) => None,
            Mode::Gives { device, .. } => Some(device),
        }
    }

    pub fn number(&mut self, x: &mut f64) -> Result<()> {
        match &mut self.mode {
            Mode::Takes(snapshot) => snapshot.numbers.push(*x),
            Mode::Gives { snapshot, numbers, .. } => {
                *x = *snapshot.numbers.get(*numbers).ok_or_else(too_short)?;
                *numbers += 1;
            }
        }
        Ok(())
    }

    /// A whole number that is not negative.
    pub fn count<T: TryFrom<u64> + TryInto<u64> + Copy>(&mut self, x: &mut T) -> Result<()> {
        let mut number = (*x).try_into().map_or(0.0, |x| x as f64);
        self.number(&mut number)?;
        if number.fract() != 0.0 || !(0.0..=LARGEST_COUNT).contains(&number) {
            return Err(wrong(format!("expected a count, found {number:?}")));
        }
        *x = T::try_from(number as u64).map_err(|_| wrong(format!("the count {number} is too large")))?;
        Ok(())
    }

    pub fn flag(&mut self, x: &mut bool) -> Result<()> {
        let mut number = u64::from(*x);
        self.count(&mut number)?;
        *x = number != 0;
        Ok(())
    }

    /// Numbers, and how many there are.
    pub fn numbers(&mut self, x: &mut Vec<f64>) -> Result<()> {
        let mut len = x.len();
        self.count(&mut len)?;
        if let Mode::Gives { snapshot, numbers, .. } = &self.mode {
            let end = numbers.checked_add(len).filter(|&end| end <= snapshot.numbers.len());
            x.resize(end.ok_or_else(too_short)? - numbers, 0.0);
        }
        x.iter_mut().try_for_each(|x| self.number(x))
    }

    pub fn text(&mut self, x: &mut String) -> Result<()> {
        match &mut self.mode {
            Mode::Takes(snapshot) => snapshot.texts.push(x.clone()),
            Mode::Gives { snapshot, texts, .. } => {
                x.clone_from(snapshot.texts.get(*texts).ok_or_else(too_short)?);
                *texts += 1;
            }
        }
        Ok(())
    }

    /// Sums of this length, or none.
    pub fn sums(&mut self, x: &mut Accumulator, len: usize) -> Result<()> {
        let mut values = if self.device().is_none() { x.values().into_owned() } else { Vec::new() };
        self.numbers(&mut values)?;
        if let Mode::Gives { device, one, .. } = &self.mode {
            if values.len() != len && !values.is_empty() {
                return Err(wrong(format!("expected {len} sums, found {}", values.len())));
            }
            *x = Accumulator::from_vec(values);
            if !x.is_empty() {
                // A device adds to its existing sums. Sums in two places would be rounded differently.
                device.scale_sums_by(x, Factor { times: 1.0, element: one.view() });
            }
        }
        Ok(())
    }

    /// A matrix that keeps its shape; one of zeros takes no room.
    pub fn matrix(&mut self, x: &mut Matrix) -> Result<()> {
        match &mut self.mode {
            Mode::Takes(snapshot) => {
                let host = on_host(x);
                let is_zero = host.data.iter().all(|x| x.to_bits() == 0);
                snapshot.matrices.push(if is_zero { DenseMatrix::from_rows::<[f32; 0]>(&[]) } else { host });
            }
            Mode::Gives { snapshot, matrices, device, .. } => {
                let host = snapshot.matrices.get(*matrices).ok_or_else(too_short)?;
                *matrices += 1;
                match (host.rows, host.cols) {
                    (0, 0) => x.set(0.0),
                    shape if shape == (x.rows(), x.cols()) => device.upload(x.view_mut(), &host.data),
                    (rows, cols) => {
                        return Err(wrong(format!(
                            "expected a matrix of {} x {}, found one of {rows} x {cols}",
                            x.rows(),
                            x.cols()
                        )));
                    }
                }
            }
        }
        Ok(())
    }

    /// Visits a matrix that takes the shape of its stored value.
    pub fn any_matrix(&mut self, x: &mut Matrix) -> Result<()> {
        match &mut self.mode {
            Mode::Takes(snapshot) => snapshot.matrices.push(on_host(x)),
            Mode::Gives { snapshot, matrices, device, .. } => {
                let host = snapshot.matrices.get(*matrices).ok_or_else(too_short)?;
                *matrices += 1;
                *x = Matrix::from_slice(device, host.rows, host.cols, &host.data);
            }
        }
        Ok(())
    }

    /// Fails if not all has been put back.
    pub fn finish(self) -> Result<()> {
        let Mode::Gives { snapshot, numbers, texts, matrices, .. } = self.mode else { return Ok(()) };
        let given = (numbers, texts, matrices);
        match given == (snapshot.numbers.len(), snapshot.texts.len(), snapshot.matrices.len()) {
            true => Ok(()),
            false => Err(wrong("it has more than the network and its rules".to_owned())),
        }
    }
}

fn on_host(x: &Matrix) -> DenseMatrix<f32> {
    DenseMatrix { rows: x.rows(), cols: x.cols(), data: x.to_vec() }
}

fn too_short() -> Error {
    wrong("it has less than the network and its rules".to_owned())
}

/// Makes the error for a snapshot that does not fit.
pub fn wrong(message: String) -> Error {
    Error::Network(format!("the state of the training does not fit: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct State {
        sums: Accumulator,
        count: u64,
        matrix: Matrix,
        text: String,
    }

    impl State {
        fn keep(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
            keeper.sums(&mut self.sums, 2)?;
            keeper.count(&mut self.count)?;
            keeper.matrix(&mut self.matrix)?;
            keeper.text(&mut self.text)
        }
    }

    fn state(sums: &[f64], count: u64, data: &[f32], text: &str) -> State {
        let matrix = Matrix::from_vec(1, data.len(), data.to_vec());
        State { sums: Accumulator::from_vec(sums.to_vec()), count, matrix, text: text.to_owned() }
    }

    fn taken(state: &mut State) -> Snapshot {
        let mut snapshot = Snapshot::default();
        state.keep(&mut Keeper::taking(&mut snapshot)).unwrap();
        snapshot
    }

    fn given(state: &mut State, snapshot: &Snapshot) -> Result<()> {
        let mut keeper = Keeper::giving(snapshot, &nnet3_matrix::cpu());
        state.keep(&mut keeper)?;
        keeper.finish()
    }

    #[test]
    fn what_is_taken_is_put_back() {
        for mut from in [state(&[0.1, -3e300], 5, &[0.25, -0.0], "a"), state(&[], 0, &[0.0, 0.0], "")] {
            let mut to = state(&[1.0, 1.0], 7, &[1.0, 1.0], "b");
            let snapshot = taken(&mut from);
            given(&mut to, &snapshot).unwrap();
            assert_eq!(taken(&mut to), snapshot);
            assert_eq!(to.matrix.to_vec().map_bits(), from.matrix.to_vec().map_bits());
        }
    }

    trait MapBits {
        fn map_bits(&self) -> Vec<u32>;
    }

    impl MapBits for Vec<f32> {
        fn map_bits(&self) -> Vec<u32> {
            self.iter().map(|x| x.to_bits()).collect()
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let snapshot = taken(&mut state(&[0.1, 0.2], 5, &[0.5, 1.0], "a"));
        let mut shorter = snapshot.clone();
        shorter.texts.pop();
        let mut longer = snapshot.clone();
        longer.numbers.push(0.0);
        let mut long_sums = snapshot.clone();
        long_sums.numbers[0] = 1e15;
        let mut negative = snapshot.clone();
        negative.numbers[3] = -1.0;
        for (wrong, message) in [
            (&shorter, "less than the network"),
            (&longer, "more than the network"),
            (&long_sums, "less than the network"),
            (&negative, "expected a count, found -1.0"),
        ] {
            let error = given(&mut state(&[], 0, &[1.0, 1.0], ""), wrong).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let error = given(&mut state(&[], 0, &[1.0], ""), &snapshot).unwrap_err().to_string();
        assert!(error.contains("1 x 1, found one of 1 x 2"), "{error}");
    }
}
