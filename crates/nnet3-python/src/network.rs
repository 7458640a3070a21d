//! Networks: outputs of features.

use kaldi_io::DenseMatrix;
use nnet3_core::config::parse_config;
use nnet3_core::execute::CachingCompiler;
use nnet3_core::forward::{Chunking, GroupedForward, Ivectors, OutputScaling};
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::collapse::CollapseOptions;
use nnet3_matrix::WeightForm;
use nnet3_train::acoustic::AmNnet;
use numpy::PyArray2;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::{real, whole};
use crate::arrays;
use crate::error::{raised, raised_with};
use crate::names::{self, Source};
use crate::signals::Signals;
use crate::stack::detach;
use crate::wording;

/// A network that computes on the CPU, of a raw model or of an acoustic model.
///
/// `path` is the name of a file, whatever characters it has. `command` takes its place: a shell command that writes the model to its
/// standard output.
/// `output` is the output to compute. A chain model has `output`, whose values are scores of pdfs, and `output-xent`, whose
/// values are log-posteriors.
#[pyclass(module = "nnet3", frozen)]
pub struct Network {
    /// The file or the command.
    name: String,
    nnet: Nnet,
    outputs: Vec<String>,
    output: String,
    log_priors: Vec<f32>,
}

/// Reads a raw network, or the network of an acoustic model with the logarithms of its priors.
fn load(source: &Source) -> PyResult<(Nnet, Vec<f32>)> {
    match source.open(Nnet::load) {
        Ok(nnet) => Ok((nnet, Vec::new())),
        // A raw network has no transition model.
        Err(raw) => match source.open(AmNnet::load) {
            Ok(model) => {
                let priors = model.log_priors().map_err(raised)?;
                Ok((model.into_nnet(), priors))
            }
            Err(_) => Err(source.raised(raw)),
        },
    }
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (path = None, output = "output", *, command = None))]
    fn new(
        py: Python<'_>,
        path: Option<&Bound<'_, PyAny>>,
        output: &str,
        command: Option<&str>,
    ) -> PyResult<Network> {
        let path = path.map(|path| names::path("path", path)).transpose()?;
        Network::read(py, &Source::new("path", path.as_deref(), command)?, output)
    }

    fn __repr__(&self) -> String {
        let dim = |dim: Option<usize>| dim.map_or("?".to_owned(), |dim| dim.to_string());
        let ivectors = self.ivector_dim().map_or(String::new(), |dim| format!(" and i-vectors of {dim}"));
        let (input, output) = (dim(self.input_dim()), dim(self.output_dim()));
        format!(
            "<nnet3.Network {:?}: {input} columns{ivectors} -> {:?}, {output} columns>",
            self.name, self.output
        )
    }

    /// The names of all outputs of the network.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.outputs.clone()
    }

    /// The name of the output that is computed.
    #[getter]
    fn output(&self) -> &str {
        &self.output
    }

    /// The dimension of the features.
    #[getter]
    fn input_dim(&self) -> Option<usize> {
        self.nnet.input_dim("input")
    }

    /// The dimension of the i-vectors; None if the network reads none.
    #[getter]
    fn ivector_dim(&self) -> Option<usize> {
        self.nnet.input_dim("ivector")
    }

    /// The dimension of the output.
    #[getter]
    fn output_dim(&self) -> Option<usize> {
        self.nnet.output_dim("output")
    }

    /// Outputs for an utterance, a float32 array of output frames × output dimension.
    ///
    /// `features`: an array of frames × input dimension. `ivectors`: a vector, or an array with a row every
    /// `online_ivector_period` frames. The other arguments are options of nnet3-compute. `use_priors` subtracts the
    /// logarithms of the priors of an acoustic model. Raises Error if dimensions do not fit the network. Other threads of Python
    /// run meanwhile, and Ctrl-C ends the computation.
    #[pyo3(signature = (
        features, ivectors = None, *, frames_per_chunk = None, frame_subsampling_factor = None, extra_left_context = None,
        extra_right_context = None, extra_left_context_initial = None, extra_right_context_final = None,
        acoustic_scale = None, use_priors = false, online_ivector_period = None
    ))]
    #[pyo3(
        text_signature = "($self, features, ivectors=None, *, frames_per_chunk=50, frame_subsampling_factor=1, \
                             extra_left_context=0, extra_right_context=0, extra_left_context_initial=-1, \
                             extra_right_context_final=-1, acoustic_scale=1.0, use_priors=False, online_ivector_period=10)"
    )]
    #[allow(clippy::too_many_arguments)] // They are keywords.
    fn compute<'py>(
        &self,
        py: Python<'py>,
        features: &Bound<'py, PyAny>,
        ivectors: Option<&Bound<'py, PyAny>>,
        frames_per_chunk: Option<&Bound<'py, PyAny>>,
        frame_subsampling_factor: Option<&Bound<'py, PyAny>>,
        extra_left_context: Option<&Bound<'py, PyAny>>,
        extra_right_context: Option<&Bound<'py, PyAny>>,
        extra_left_context_initial: Option<&Bound<'py, PyAny>>,
        extra_right_context_final: Option<&Bound<'py, PyAny>>,
        acoustic_scale: Option<&Bound<'py, PyAny>>,
        use_priors: bool,
        online_ivector_period: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let number = |name, number, default, least| {
            let value = whole(name, number, default, least..=i64::from(i32::MAX))?;
            Ok::<i32, PyErr>(value as i32) // (It is within the bounds.)
        };
        let chunking = Chunking {
            extra_left_context: number("extra_left_context", extra_left_context, 0, 0)?,
            extra_right_context: number("extra_right_context", extra_right_context, 0, 0)?,
            extra_left_context_initial: number(
                "extra_left_context_initial",
                extra_left_context_initial,
                -1,
                -1,
            )?,
            extra_right_context_final: number(
                "extra_right_context_final",
                extra_right_context_final,
                -1,
                -1,
            )?,
            frame_subsampling_factor: number("frame_subsampling_factor", frame_subsampling_factor, 1, 1)?,
            frames_per_chunk: number("frames_per_chunk", frames_per_chunk, 50, 1)?,
        };
        let online_ivector_period = number("online_ivector_period", online_ivector_period, 10, 1)? as usize;
        let acoustic_scale = acoustic_scale.map_or(Ok(1.0), |scale| real("acoustic_scale", scale))? as f32;
        if acoustic_scale <= 0.0 {
            let message = format!("acoustic_scale: expected a number above 0, found {acoustic_scale}");
            return Err(PyValueError::new_err(message));
        }
        let features = arrays::matrix(features, "features")?;
        let (mut vector, mut matrix) = (None, None);
        if let Some(ivectors) = ivectors {
            match arrays::vector(ivectors, "ivectors") {
                Ok(found) => vector = Some(found),
                Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                    matrix = Some(arrays::matrix(ivectors, "ivectors")?);
                }
                Err(error) => return Err(error),
            }
        }
        let ivectors = match (&vector, &matrix) {
            (Some(vector), _) => Ivectors::Utterance(vector),
            (None, Some(matrix)) => Ivectors::Online { matrix, period: online_ivector_period },
            (None, None) => Ivectors::None,
        };
        let log_priors = if use_priors { self.log_priors.clone() } else { Vec::new() };
        let scaling = OutputScaling { log_priors, scale: acoustic_scale };
        let of_arguments = |error| raised_with(error, |text| wording::of_compute(&text));
        let output = detach(py, || self.run(&features, ivectors, chunking, scaling).map_err(of_arguments))?;
        arrays::to_matrix(py, output)
    }
}

impl Network {
    /// Reads a network while other threads of Python run.
    pub(crate) fn read(py: Python<'_>, source: &Source, output: &str) -> PyResult<Network> {
        detach(py, || Network::open(source, output))
    }

    fn open(source: &Source, output: &str) -> PyResult<Network> {
        let (mut nnet, log_priors) = load(source)?;
        let path = source.name();
        let outputs: Vec<String> = nnet.output_nodes().map(|node| nnet.node_name(node).to_owned()).collect();
        if !outputs.iter().any(|name| name == output) {
            return Err(PyValueError::new_err(format!(
                "{path}: the network has no output '{output}', but {}",
                outputs.join(", ")
            )));
        }
        if output != "output" {
            keep_output(&mut nnet, &outputs, output).map_err(raised)?;
        }
        nnet.set_batchnorm_test_mode(true);
        nnet.set_dropout_test_mode(true);
        nnet.collapse(&CollapseOptions::ALL).map_err(raised)?;
        let device = nnet3_matrix::cpu();
        nnet.to_device(&device);
        nnet.arrange_weights(&device, WeightForm::Float);
        Ok(Network { name: path.to_owned(), nnet, outputs, output: output.to_owned(), log_priors })
    }

    fn run(
        &self,
        features: &DenseMatrix<f32>,
        ivectors: Ivectors<'_>,
        mut chunking: Chunking,
        scaling: OutputScaling,
    ) -> nnet3_core::Result<DenseMatrix<f32>> {
        chunking.check()?;
        chunking.round_up(self.nnet.modulus())?;
        let compiler = CachingCompiler::new(Default::default(), Default::default());
        let mut forward =
            GroupedForward::new(&self.nnet, &nnet3_matrix::cpu(), chunking, scaling, compiler, 1)?;
        // (All of it runs on this thread.)
        forward.executors().iter_mut().for_each(|executor| executor.observe(Box::new(Signals::default())));
        forward.accept(features, ivectors)?;
        forward.finish()?;
        Ok(forward.next_output().unwrap_or_default())
    }
}

/// Removes all outputs but one, and gives that one the name `output`.
fn keep_output(nnet: &mut Nnet, outputs: &[String], kept: &str) -> nnet3_core::Result<()> {
    let others = outputs.iter().filter(|name| *name != kept);
    let mut lines: Vec<String> = others.map(|name| format!("remove-output-nodes name={name}")).collect();
    lines.push(format!("rename-node old-name={kept} new-name=output"));
    lines.push("remove-orphans".to_owned());
    nnet.edit(parse_config("output", lines.iter().map(String::as_str))?)?;
    Ok(())
}
