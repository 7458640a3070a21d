//! A plan in a file, as the reference writes its `ConvolutionComputation`. What is read is checked, since a file may be damaged.

use super::{Gather, OffsetStep, PRECOMPUTED_NAME, Plan};
use crate::{PrecomputedIndexes, fields};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;

impl Plan {
    /// Describes the defect that makes a plan from a file unusable, if there is one.
    fn defect(&self) -> Option<&'static str> {
        let Plan { filters_in, height_out, times_in, times_out, images, temporary, .. } = self;
        let used = |step: &OffsetStep| step.height_map.iter().any(|&height| height >= 0);
        let fits = |step: &OffsetStep| {
            step.time_shift + times_out <= *times_in
                && step.params_start.is_multiple_of(*filters_in)
                && step.height_map.len().is_multiple_of(*height_out)
        };
        let (rows, cols) = *temporary;
        let rows_fit = if cols == 0 { rows == 0 } else { rows > 0 && rows <= times_out * images };
        if self.steps.is_empty() || !self.steps.iter().all(used) {
            Some("a step of a convolution reads nothing")
        } else if !self.steps.iter().all(fits) {
            Some("a step of a convolution reads what the input does not have")
        } else if cols != self.temporary_cols() || !rows_fit || !rows.is_multiple_of(*images) {
            Some("the temporary matrix of a convolution has a wrong size")
        } else {
            None
        }
    }
}

/// Largest number of columns of all steps in a file together; more would only exhaust memory.
const MOST_COLUMNS: u64 = 1 << 22;

pub(crate) fn read_precomputed(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
    r.expect_token("<Computation>")?;
    r.expect_token("<ConvComputation>")?;
    let [filters_in, filters_out] = read_sizes(r, "<NumFiltersInOut>")?;
    let [height_in, height_out] = read_sizes(r, "<HeightInOut>")?;
    let [times_in, times_out] = read_sizes(r, "<NumTInOut>")?;
    let images = fields::read_dim(r, "<NumImages>")?;
    r.expect_token("<TempRowsCols>")?;
    let temporary = (read_size(r, "<TempRowsCols>")?, read_size(r, "<TempRowsCols>")?);
    let num_steps = fields::read_dim(r, "<NumSteps>")?;
    let mut steps = Vec::new();
    let mut columns = 0;
    for _ in 0..num_steps {
        r.expect_token("<TimeShift>")?;
        let time_shift = read_size(r, "<TimeShift>")?;
        r.expect_token("<ParamsStartCol>")?;
        let params_start = read_size(r, "<ParamsStartCol>")?;
        r.expect_token("<HeightMap>")?;
        let height_map = r.read_i32_vector()?;
        columns += height_map.len() as u64 * filters_in as u64;
        let heights = -1..height_in as i64;
        fields::check(r, columns <= MOST_COLUMNS, || {
            format!("{columns} columns of a convolution are too many")
        })?;
        let fits = !height_map.is_empty() && (height_in * filters_in) < 1 << 31;
        fields::check(
            r,
            fits && height_map.iter().all(|&height| heights.contains(&(height as i64))),
            || format!("<HeightMap>: expected heights from -1 to {}, found {height_map:?}", height_in - 1),
        )?;
        let gather = Gather::new(&height_map, height_in, filters_in);
        steps.push(OffsetStep { time_shift, params_start, height_map, gather });
    }
    r.expect_token("</ConvComputation>")?;
    r.expect_token("</TimeHeightConvolutionComponentPrecomputedIndexes>")?;
    let plan = Plan {
        filters_in,
        filters_out,
        height_in,
        height_out,
        times_in,
        times_out,
        images,
        temporary,
        steps: steps.into(),
    };
    match plan.defect() {
        Some(defect) => Err(r.error(defect).into()),
        None => Ok(Box::new(plan)),
    }
}

/// Reads a number that is not negative; `token` is for the message.
fn read_size(r: &mut KaldiReader, token: &str) -> Result<usize> {
    let value = r.read_i32()?;
    usize::try_from(value).map_err(|_| r.error(format!("{token}: expected a size, found {value}")).into())
}

/// Reads `token` and two numbers greater than 0.
fn read_sizes(r: &mut KaldiReader, token: &str) -> Result<[usize; 2]> {
    r.expect_token(token)?;
    let sizes = [read_size(r, token)?, read_size(r, token)?];
    fields::check(r, sizes[0] > 0 && sizes[1] > 0, || {
        format!("{token}: expected sizes greater than 0, found {sizes:?}")
    })?;
    Ok(sizes)
}

impl PrecomputedIndexes for Plan {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token(&format!("<{PRECOMPUTED_NAME}>"))?;
        w.write_token("<Computation>")?;
        w.write_token("<ConvComputation>")?;
        for (token, sizes) in [
            ("<NumFiltersInOut>", [self.filters_in, self.filters_out]),
            ("<HeightInOut>", [self.height_in, self.height_out]),
            ("<NumTInOut>", [self.times_in, self.times_out]),
        ] {
            fields::write_dim(w, token, sizes[0])?;
            w.write_i32(sizes[1] as i32)?;
        }
        fields::write_dim(w, "<NumImages>", self.images)?;
        fields::write_dim(w, "<TempRowsCols>", self.temporary.0)?;
        w.write_i32(self.temporary.1 as i32)?;
        fields::write_dim(w, "<NumSteps>", self.steps.len())?;
        for step in &*self.steps {
            fields::write_dim(w, "<TimeShift>", step.time_shift)?;
            fields::write_dim(w, "<ParamsStartCol>", step.params_start)?;
            w.write_token("<HeightMap>")?;
            w.write_i32_vector(&step.height_map)?;
        }
        w.write_token("</ConvComputation>")?;
        w.write_token(&format!("</{PRECOMPUTED_NAME}>"))?;
        Ok(())
    }
}
