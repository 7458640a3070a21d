//! A request to a network: the indexes of given inputs and wanted outputs, and the derivatives.

use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{Index, print_indexes, read_indexes, write_indexes};
use std::fmt;
use std::hash::{Hash, Hasher};

/// One named input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoSpecification {
    pub name: String,
    /// One index a row, in the order of the matrix's rows.
    pub indexes: Vec<Index>,
    /// For an input: whether its derivative is wanted. For an output: whether its derivative will be supplied.
    pub has_deriv: bool,
}

/// Hashes the name, the number of indexes and some of them: lists can be long, and different lists rarely differ in a
/// few places only.
impl Hash for IoSpecification {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, self.has_deriv, self.indexes.len()).hash(state);
        let step = self.indexes.len() / 16 + 1;
        self.indexes.iter().step_by(step).chain(self.indexes.last()).for_each(|index| index.hash(state));
    }
}

/// A request. Equality compares all parts, in order; it is the key of compiled-computation caches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ComputationRequest {
    pub inputs: Vec<IoSpecification>,
    pub outputs: Vec<IoSpecification>,
    /// The gradient (or natural-gradient step) of the parameters is wanted.
    pub need_model_derivative: bool,
    /// Components store activation statistics.
    pub store_component_stats: bool,
}

impl ComputationRequest {
    /// True if there is a backward pass. Fails if derivatives are wanted but no output supplies one.
    pub fn need_derivatives(&self) -> Result<bool> {
        let wanted = self.need_model_derivative || self.inputs.iter().any(|i| i.has_deriv);
        if wanted && !self.outputs.iter().any(|o| o.has_deriv) {
            return Err(Error::Request("derivatives are wanted, but no output supplies one".to_string()));
        }
        Ok(wanted)
    }

    /// The largest time of any output index.
    pub fn max_output_time(&self) -> Result<i32> {
        let times = self.outputs.iter().flat_map(|io| io.indexes.iter()).map(|i| i.t);
        times.max().ok_or_else(|| Error::Request("no output is requested".to_string()))
    }

    pub fn input(&self, name: &str) -> Option<&IoSpecification> {
        self.inputs.iter().find(|io| io.name == name)
    }
    pub fn output(&self, name: &str) -> Option<&IoSpecification> {
        self.outputs.iter().find(|io| io.name == name)
    }

    pub fn read(r: &mut KaldiReader) -> Result<ComputationRequest> {
        r.expect_token("<ComputationRequest>")?;
        let inputs = read_list(r, "<NumInputs>", "<Inputs>")?;
        let outputs = read_list(r, "<NumOutputs>", "<Outputs>")?;
        r.expect_token("<NeedModelDerivative>")?;
        let need_model_derivative = r.read_bool()?;
        r.expect_token("<StoreComponentStats>")?;
        let store_component_stats = r.read_bool()?;
        r.expect_token("</ComputationRequest>")?;
        Ok(ComputationRequest { inputs, outputs, need_model_derivative, store_component_stats })
    }

    /// Reads a request from a file, pipe or `-`.
    pub fn load(rxfilename: &str) -> Result<ComputationRequest> {
        let mut r = KaldiReader::open(rxfilename)?;
        let request = ComputationRequest::read(&mut r)?;
        r.close()?;
        Ok(request)
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<ComputationRequest>")?;
        w.newline_in_text()?;
        write_list(w, "<NumInputs>", "<Inputs>", &self.inputs)?;
        write_list(w, "<NumOutputs>", "<Outputs>", &self.outputs)?;
        w.write_token("<NeedModelDerivative>")?;
        w.write_bool(self.need_model_derivative)?;
        w.write_token("<StoreComponentStats>")?;
        w.write_bool(self.store_component_stats)?;
        w.write_token("</ComputationRequest>")?;
        Ok(w.newline_in_text()?)
    }
}

impl fmt::Display for ComputationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, " # Computation request:")?;
        for (kind, list) in [("input", &self.inputs), ("output", &self.outputs)] {
            for (i, io) in list.iter().enumerate() {
                let indexes = print_indexes(&io.indexes);
                writeln!(f, "{kind}-{i}: name={}, has-deriv={}, indexes={indexes}", io.name, io.has_deriv)?;
            }
        }
        writeln!(f, "need-model-derivative: {}", self.need_model_derivative)?;
        writeln!(f, "store-component-stats: {}", self.store_component_stats)
    }
}

impl IoSpecification {
    /// Indexes (n, t, 0) for `sequences` sequences, n slowest, and these times.
    pub fn new(
        name: &str,
        sequences: i32,
        times: impl Iterator<Item = i32> + Clone,
        has_deriv: bool,
    ) -> IoSpecification {
        let indexes = (0..sequences).flat_map(|n| times.clone().map(move |t| Index::new(n, t, 0))).collect();
        IoSpecification { name: name.to_string(), indexes, has_deriv }
    }

    fn read(r: &mut KaldiReader) -> Result<IoSpecification> {
        r.expect_token("<IoSpecification>")?;
        let name = r.read_token()?;
        r.expect_token("<NumIndexes>")?;
        let count = r.read_u64()?;
        r.expect_token("<Indexes>")?;
        let indexes = read_indexes(r)?;
        if indexes.len() as u64 != count {
            return Err(r
                .error(format!("<NumIndexes> says {count}, but there are {} indexes", indexes.len()))
                .into());
        }
        r.expect_token("<HasDeriv>")?;
        let has_deriv = r.read_bool()?;
        r.expect_token("</IoSpecification>")?;
        Ok(IoSpecification { name, indexes, has_deriv })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<IoSpecification>")?;
        w.newline_in_text()?;
        w.write_token(&self.name)?;
        w.write_token("<NumIndexes>")?;
        w.write_u64(self.indexes.len() as u64)?;
        w.write_token("<Indexes>")?;
        write_indexes(w, &self.indexes)?;
        w.write_token("<HasDeriv>")?;
        w.write_bool(self.has_deriv)?;
        w.newline_in_text()?;
        w.write_token("</IoSpecification>")?;
        Ok(w.newline_in_text()?)
    }
}

fn read_list(r: &mut KaldiReader, count: &str, list: &str) -> Result<Vec<IoSpecification>> {
    r.expect_token(count)?;
    let n = r.read_u64()?;
    r.expect_token(list)?;
    (0..n).map(|_| IoSpecification::read(r)).collect()
}

fn write_list(w: &mut KaldiWriter, count: &str, list: &str, items: &[IoSpecification]) -> Result<()> {
    w.write_token(count)?;
    w.write_u64(items.len() as u64)?;
    w.newline_in_text()?;
    w.write_token(list)?;
    items.iter().try_for_each(|item| item.write(w))?;
    Ok(w.newline_in_text()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 351 bytes that the reference wrote, and the text form.
    #[test]
    fn stored_like_the_reference() {
        let request = ComputationRequest {
            inputs: vec![IoSpecification::new("input", 1, 0..2, false)],
            outputs: vec![IoSpecification::new("output", 1, 0..1, false)],
            need_model_derivative: true,
            store_component_stats: false,
        };
        let mut w = KaldiWriter::in_memory(true);
        request.write(&mut w).unwrap();
        let bytes = w.into_bytes();
        assert_eq!(bytes.len(), 351);
        let mut r = KaldiReader::from_bytes("test", bytes);
        r.set_binary(true);
        assert_eq!(ComputationRequest::read(&mut r).unwrap(), request);

        let mut w = KaldiWriter::in_memory(false);
        request.write(&mut w).unwrap();
        let text = String::from_utf8(w.into_bytes()).unwrap();
        let start = "<ComputationRequest> \n<NumInputs> 1 \n<Inputs> <IoSpecification> \ninput <NumIndexes> 2 <Indexes> <I1V> 2 \
                     <I1> 0 0 0 <I1> 0 1 0 <HasDeriv> F \n</IoSpecification> \n\n<NumOutputs> 1 \n";
        assert!(text.starts_with(start), "{text}");
        assert_eq!(
            ComputationRequest::read(&mut KaldiReader::from_bytes("test", text.into_bytes())).unwrap(),
            request
        );
    }

    #[test]
    fn derivatives_need_a_source() {
        let mut request = ComputationRequest { need_model_derivative: true, ..Default::default() };
        request.outputs.push(IoSpecification::new("output", 1, 0..1, false));
        assert!(request.need_derivatives().is_err());
        request.outputs[0].has_deriv = true;
        assert!(request.need_derivatives().unwrap());
    }
}
