//! Copying examples with supervision, with changes.

use kaldi_io::GeneralMatrix;
use nnet3_core::CRand;

use super::{SequenceExample, SequenceOutput, SequenceSupervision};
use crate::copy::{Copied, Copier, CopyExample, NOT_SHIFTED, select_times};
use crate::error::{Error, Result};
use crate::example::NnetIo;

impl<S: SequenceSupervision> CopyExample for SequenceExample<S> {
    fn copied(mut self, copier: &mut Copier, _rand: &mut CRand) -> Result<Option<Copied<Self>>> {
        let options = copier.options().clone();
        if options.frame_shift != 0 {
            shift(&mut self, options.frame_shift)?;
        }
        let mut warnings = Vec::new();
        if options.left_context.is_some() || options.right_context.is_some() {
            let (mut input, output) = time_ranges(&self)?;
            warnings = copier.trim(&mut input, output);
            for io in self.inputs.iter_mut().filter(|io| io.name == "input") {
                *io = select_times(io, input)?;
                // As in the reference, trimmed features are written without compression.
                if matches!(io.features, GeneralMatrix::Compressed(_)) {
                    io.features = std::mem::take(&mut io.features).into_dense().into();
                }
            }
        }
        Ok(Some((self, warnings)))
    }

    fn scale_targets(&mut self, weight: f32) -> Result<()> {
        if weight == 1.0 {
            return Ok(());
        }
        self.main_outputs()?.into_iter().for_each(|output| *output.supervision.weight_mut() *= weight);
        Ok(())
    }

    fn rename_output(&mut self, name: &str) -> Result<()> {
        self.main_outputs()?.into_iter().for_each(|output| name.clone_into(&mut output.name));
        Ok(())
    }
}

/// Moves inputs in time, and outputs by the nearest multiple of the time between their frames.
fn shift<S: SequenceSupervision>(example: &mut SequenceExample<S>, frames: i32) -> Result<()> {
    let moved = |t: i32, by: i32| {
        t.checked_add(by).ok_or_else(|| Error::data(format!("time {t} cannot be moved by {by} frames")))
    };
    for io in example.inputs.iter_mut().filter(|io| io.name != NOT_SHIFTED) {
        for index in &mut io.indexes {
            index.t = moved(index.t, frames)?;
        }
    }
    for output in &mut example.outputs {
        let by = output_shift(output, frames)?;
        for index in &mut output.indexes {
            index.t = moved(index.t, by)?;
        }
    }
    Ok(())
}

fn output_shift<S: SequenceSupervision>(output: &SequenceOutput<S>, frames: i32) -> Result<i32> {
    match output.frame_step() {
        Some(step) if step > 0 => Ok(step * (0.5 + f64::from(frames) / f64::from(step)).floor() as i32),
        _ => Err(Error::data(format!("the times of '{}' do not increase", output.name))),
    }
}

/// Times of the first and last frame of `input` and of `output`. An error if the example is a minibatch already.
fn time_ranges<S: SequenceSupervision>(example: &SequenceExample<S>) -> Result<((i32, i32), (i32, i32))> {
    if let Some(name) = example.merged_part() {
        return Err(Error::data(format!(
            "'{name}' has several sequences: the context of merged examples cannot be reduced"
        )));
    }
    let input = example.inputs.iter().find(|io| io.name == "input").and_then(NnetIo::time_range);
    let input = input.ok_or_else(|| Error::data("the example has no frames named 'input'"))?;
    let output = example.output("output").map(|output| output.indexes.iter().map(|index| index.t));
    let output = output.and_then(|times| times.clone().min().zip(times.max()));
    Ok((input, output.ok_or_else(|| Error::data("the example has no frames named 'output'"))?))
}
