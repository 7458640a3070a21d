//! The switches of the passes, with the reference's names and defaults, and their stored form in cache files.

use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;

/// Options of the optimiser (`--optimization.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptimizeOptions {
    /// Switches off all passes except those that are needed for correctness or change the results.
    pub optimize: bool,
    pub consolidate_model_update: bool,
    pub propagate_in_place: bool,
    pub backprop_in_place: bool,
    pub extend_matrices: bool,
    pub optimize_row_ops: bool,
    pub split_row_ops: bool,
    pub snip_row_ops: bool,
    pub convert_addition: bool,
    pub remove_assignments: bool,
    pub allow_left_merge: bool,
    pub allow_right_merge: bool,
    pub initialize_undefined: bool,
    pub move_sizing_commands: bool,
    pub allocate_from_other: bool,
    /// Derivatives before this time are taken to be zero.
    pub min_deriv_time: i32,
    /// Derivatives after this time are taken to be zero.
    pub max_deriv_time: i32,
    /// A limit like `max_deriv_time`, counted from the last output; it replaces that one.
    pub max_deriv_time_relative: i32,
    /// 0: none, 1: signs of ReLU outputs, 2: matrices that wait for the backward pass, as 16-bit integers.
    pub memory_compression_level: i32,
    /// Makes the third of the requests repeat for ever. Set by looped compilation; not stored.
    pub optimize_looped_computation: bool,
}

impl Default for OptimizeOptions {
    fn default() -> OptimizeOptions {
        OptimizeOptions {
            optimize: true,
            consolidate_model_update: true,
            propagate_in_place: true,
            backprop_in_place: true,
            extend_matrices: true,
            optimize_row_ops: true,
            split_row_ops: true,
            snip_row_ops: true,
            convert_addition: true,
            remove_assignments: true,
            allow_left_merge: true,
            allow_right_merge: true,
            initialize_undefined: true,
            move_sizing_commands: true,
            allocate_from_other: true,
            min_deriv_time: i32::MIN,
            max_deriv_time: i32::MAX,
            max_deriv_time_relative: i32::MAX,
            memory_compression_level: 1,
            optimize_looped_computation: false,
        }
    }
}

impl OptimizeOptions {
    /// Without passes; only the order of exchanges with the user changes.
    pub fn none() -> OptimizeOptions {
        OptimizeOptions { optimize: false, memory_compression_level: 0, ..OptimizeOptions::default() }
    }

    /// Returns the range of times with derivatives; `None` if it is not limited.
    pub(crate) fn deriv_times(&self, max_output_time: i32) -> Option<(i32, i32)> {
        let max = match self.max_deriv_time_relative {
            i32::MAX => self.max_deriv_time,
            relative => relative.saturating_add(max_output_time),
        };
        (self.min_deriv_time != i32::MIN || max != i32::MAX).then_some((self.min_deriv_time, max))
    }

    /// True if computations made with `other` may be used: compares all stored options except extend-matrices.
    pub fn agrees_with(&self, other: &OptimizeOptions) -> bool {
        let ignored = OptimizeOptions {
            extend_matrices: self.extend_matrices,
            optimize_looped_computation: self.optimize_looped_computation,
            ..other.clone()
        };
        *self == ignored
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<NnetOptimizeOptions>")?;
        for (token, value) in [
            ("<Optimize>", self.optimize),
            ("<ConsolidateModelUpdate>", self.consolidate_model_update),
            ("<PropagateInPlace>", self.propagate_in_place),
            ("<BackpropInPlace>", self.backprop_in_place),
            ("<OptimizeRowOps>", self.optimize_row_ops),
            ("<SplitRowOps>", self.split_row_ops),
            ("<ExtendMatrices>", self.extend_matrices),
            ("<ConvertAddition>", self.convert_addition),
            ("<RemoveAssignments>", self.remove_assignments),
            ("<AllowLeftMerge>", self.allow_left_merge),
            ("<AllowRightMerge>", self.allow_right_merge),
            ("<InitializeUndefined>", self.initialize_undefined),
            ("<MoveSizingCommands>", self.move_sizing_commands),
            ("<AllocateFromOther>", self.allocate_from_other),
        ] {
            w.write_token(token)?;
            w.write_bool(value)?;
        }
        for (token, value) in [
            ("<MinDerivTime>", self.min_deriv_time),
            ("<MaxDerivTime>", self.max_deriv_time),
            ("<MaxDerivTimeRelative>", self.max_deriv_time_relative),
        ] {
            w.write_token(token)?;
            w.write_i32(value)?;
        }
        w.write_token("<SnipRowOps>")?;
        w.write_bool(self.snip_row_ops)?;
        w.write_token("<MemoryCompressionLevel>")?;
        w.write_i32(self.memory_compression_level)?;
        Ok(w.write_token("</NnetOptimizeOptions>")?)
    }

    /// Options that older files lack keep their defaults.
    pub fn read(r: &mut KaldiReader) -> Result<OptimizeOptions> {
        r.expect_token("<NnetOptimizeOptions>")?;
        let mut o = OptimizeOptions::default();
        loop {
            let token = r.read_token()?;
            let flag = match token.as_str() {
                "<Optimize>" => &mut o.optimize,
                "<ConsolidateModelUpdate>" => &mut o.consolidate_model_update,
                "<PropagateInPlace>" => &mut o.propagate_in_place,
                "<BackpropInPlace>" => &mut o.backprop_in_place,
                "<OptimizeRowOps>" => &mut o.optimize_row_ops,
                "<SplitRowOps>" => &mut o.split_row_ops,
                "<ExtendMatrices>" => &mut o.extend_matrices,
                "<ConvertAddition>" => &mut o.convert_addition,
                "<RemoveAssignments>" => &mut o.remove_assignments,
                "<AllowLeftMerge>" => &mut o.allow_left_merge,
                "<AllowRightMerge>" => &mut o.allow_right_merge,
                "<InitializeUndefined>" => &mut o.initialize_undefined,
                "<MoveSizingCommands>" => &mut o.move_sizing_commands,
                "<AllocateFromOther>" => &mut o.allocate_from_other,
                "<SnipRowOps>" => &mut o.snip_row_ops,
                "</NnetOptimizeOptions>" => return Ok(o),
                _ => {
                    let number = match token.as_str() {
                        "<MinDerivTime>" => &mut o.min_deriv_time,
                        "<MaxDerivTime>" => &mut o.max_deriv_time,
                        "<MaxDerivTimeRelative>" => &mut o.max_deriv_time_relative,
                        "<MemoryCompressionLevel>" => &mut o.memory_compression_level,
                        _ => return Err(r.error(format!("unknown optimisation option {token}")).into()),
                    };
                    *number = r.read_i32()?;
                    continue;
                }
            };
            *flag = r.read_bool()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults take 428 bytes, as the reference writes them.
    #[test]
    fn stored_like_the_reference() {
        let options = OptimizeOptions { max_deriv_time_relative: 7, ..OptimizeOptions::default() };
        let mut w = KaldiWriter::in_memory(true);
        options.write(&mut w).unwrap();
        let bytes = w.into_bytes();
        assert_eq!(bytes.len(), 428);
        let mut r = KaldiReader::from_bytes("test", bytes);
        r.set_binary(true);
        let read = OptimizeOptions::read(&mut r).unwrap();
        assert_eq!(read, options);
        assert!(!read.agrees_with(&OptimizeOptions::default()));
        assert!(read.agrees_with(&OptimizeOptions { extend_matrices: false, ..options }));
    }
}
