//! Lengths of inputs: numbers that depend on them, and inputs that are too short or not whole.

use super::emit::Emitter;
use super::pattern::Affine;
use super::proto::AttributeProto;
use crate::error::{Error, Result};
use crate::graph::Value;

/// More than any input is longer than the fewest frames. (46 hours of frames; runtimes may compute in 32 bits.)
const MANY: i64 = 1 << 24;

/// Determines the length, in units, from the number of rows of an input.
#[derive(Clone, Debug)]
pub struct Lengths {
    pub input: String,
    /// The length, in units, of each graph.
    pub units: Vec<i64>,
    /// Rows of the input.
    pub input_rows: Affine,
    /// More values of a list than this do not repeat themselves.
    pub longest_period: usize,
    /// The fewest units that the model is to take; with fewer it ends with an error.
    pub fewest: i64,
}

impl Emitter<'_> {
    /// A tensor with one integer that depends on the length. Runtimes can compute it from shapes alone.
    pub(super) fn affine(&mut self, Affine { a, b }: Affine) -> Result<String> {
        if b == 0 {
            return Ok(self.ints(&[a]));
        }
        if let Some(name) = self.affine.get(&(a, b)) {
            return Ok(name.clone());
        }
        let Some(lengths) = self.lengths else {
            return Err(Error::unsupported("a number depends on the length, and there is one length only"));
        };
        let name = if (a, b) == (0, 1) {
            let Affine { a, b } = lengths.input_rows;
            let source = self.source(&lengths.input);
            let rows = self.dimension("length", &source, 1);
            let beyond = self.combined("Sub", &rows, a, 0);
            self.combined("Div", &beyond, b, 1)
        } else {
            let units = self.affine(Affine { a: 0, b: 1 })?;
            let product = self.combined("Mul", &units, b, 1);
            self.combined("Add", &product, a, 0)
        };
        self.affine.insert((a, b), name.clone());
        Ok(name)
    }

    /// The result of an operator for a number and a constant; `neutral` is the constant that changes nothing.
    fn combined(&mut self, op: &str, number: &str, constant: i64, neutral: i64) -> String {
        if constant == neutral {
            return number.to_string();
        }
        let constant = self.ints(&[constant]);
        self.node("length", op, &[number, &constant], vec![])
    }

    fn source(&self, input: &str) -> String {
        self.padded.clone().unwrap_or_else(|| input.to_string())
    }

    /// Pads an input of fewer rows with equal numbers of copies of its first and its last row. If the number of copies
    /// is odd, the last row gets one more. So many copies as the shortest input needs come first; then the rows that
    /// are too many are cut off.
    pub(crate) fn pad_input(&mut self, fewest: i64) {
        let Some(lengths) = self.lengths else { return };
        let (most_before, most_behind) = ((fewest - 1) / 2, fewest / 2);
        if most_behind == 0 {
            return;
        }
        let base = format!("{}/padded", lengths.input);
        let input = &lengths.input;
        let total = self.dimension("length", input, 1);
        let [one, two, fewest] = [1, 2, fewest].map(|i| self.ints(&[i]));
        // Not every runtime has the smaller one of two sizes, or divides by a size. With q = total / fewest below MANY,
        // (q + MANY - 1) / MANY is 0 for q = 0, and otherwise 1.
        let [many, but_one] = [MANY, MANY - 1].map(|i| self.ints(&[i]));
        let times = self.node("length", "Div", &[&total, &fewest], vec![]);
        let beyond = self.node("length", "Add", &[&times, &but_one], vec![]);
        let is_enough = self.node("length", "Div", &[&beyond, &many], vec![]);
        let is_short = self.node("length", "Sub", &[&one, &is_enough], vec![]);
        let lacking = self.node("length", "Sub", &[&fewest, &total], vec![]);
        let missing = self.node("length", "Mul", &[&lacking, &is_short], vec![]);
        let before = self.node("length", "Div", &[&missing, &two], vec![]);
        let first_row = self.ints(&vec![0; most_before as usize]);
        let [last, end] = [-1, i64::MAX].map(|i| self.ints(&[i]));
        let last_row = self.node(&base, "Slice", &[input, &last, &end, &one], vec![]);
        let copies = self.ints(&vec![0; most_behind as usize]);
        let axis = || vec![AttributeProto::int("axis", 1)];
        let behind = self.node(&base, "Gather", &[&last_row, &copies], axis());
        let mut parts = vec![input.as_str(), &behind];
        let front;
        if most_before > 0 {
            front = self.node(&base, "Gather", &[input, &first_row], axis());
            parts.insert(0, &front);
        }
        let all = self.node(&base, "Concat", &parts, axis());
        let most_before = self.ints(&[most_before]);
        let start = self.node("length", "Sub", &[&most_before, &before], vec![]);
        let end = self.node("length", "Add", &[&start, &total], vec![]);
        let end = self.node("length", "Add", &[&end, &missing], vec![]);
        self.padded = Some(self.node(&base, "Slice", &[&all, &start, &end, &one], vec![]));
    }

    /// Cuts off frames of the input that are no whole unit more. If the input is too short, runtimes that look for
    /// indexes out of bounds stop in a node whose name gives the reason. Its result is added as a zero.
    pub(crate) fn cut_input(&mut self, value: Value) -> Result<()> {
        let Some(lengths) = self.lengths else { return Ok(()) };
        let mut rows = self.source(&lengths.input);
        if lengths.input_rows.b != 1 {
            let end = self.affine(lengths.input_rows)?;
            let [start, axis] = [0, 1].map(|i| self.ints(&[i]));
            let base = format!("{}/whole", lengths.input);
            rows = self.node(&base, "Slice", &[&rows, &start, &end, &axis], vec![]);
        }
        let fewest = lengths.input_rows.at(lengths.fewest);
        if self.padded.is_none() {
            let last = self.ints(&[fewest - 1]);
            let base = format!("{}/needs_at_least_{fewest}_frames", lengths.input);
            let axis = vec![AttributeProto::int("axis", 1)];
            let last = self.node(&base, "Gather", &[&lengths.input, &last], axis);
            let [start, end, axis] = [0, 1, 2].map(|i| self.ints(&[i]));
            let base = format!("{}/is_long_enough", lengths.input);
            let number = self.node(&base, "Slice", &[&last, &start, &end, &axis], vec![]);
            let zero = self.floats(&format!("{base}/constant"), &[], &[0.0]);
            let zero = self.node(&base, "Clip", &[&number, &zero, &zero], vec![]);
            rows = self.node(&base, "Add", &[&rows, &zero], vec![]);
        }
        self.names.insert(value, rows);
        Ok(())
    }
}
