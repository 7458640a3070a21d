//! Running a minibatch: its program, its inputs.

use crate::error::Result;
use crate::request::MinibatchRequest;
use kaldi_io::GeneralMatrix;
use nnet3_core::execute::{CachingCompiler, CompilerOptions, Executor, Program};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::random::Random;
use std::fmt;
use std::sync::Arc;

/// Options for turning requests into programs.
#[derive(Debug, Clone, Default)]
pub struct CompileOptions {
    pub compiler: CompilerOptions,
    pub optimize: OptimizeOptions,
}

/// The use of a minibatch, beside computing its outputs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Purpose {
    /// True if derivatives of all outputs will be supplied, and those of the parameters are wanted.
    pub derivatives: bool,
    pub store_component_stats: bool,
}

/// The memory of a minibatch on its device, in bytes. It excludes the scratch memory of components and the state of
/// natural gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinibatchMemory {
    pub sequences: usize,
    /// The matrices of the computation.
    pub matrices: usize,
    /// Scratch memory of the objective.
    pub objective: usize,
    /// Parameters of the network and their changes.
    pub parameters: usize,
}

impl MinibatchMemory {
    pub fn total(&self) -> usize {
        self.matrices + self.objective + self.parameters
    }
}

impl fmt::Display for MinibatchMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = |bytes: usize| bytes as f64 / 1e6;
        write!(
            f,
            "A minibatch of {} sequences takes {:.1} MB: {:.1} for matrices, {:.1} for the objective, {:.1} for parameters and their \
             changes",
            self.sequences,
            mb(self.total()),
            mb(self.matrices),
            mb(self.objective),
            mb(self.parameters)
        )
    }
}

/// Compiles minibatches and hands them to an executor.
pub struct Runner {
    compiler: CachingCompiler,
    executor: Executor,
}

impl Runner {
    pub fn new(options: &CompileOptions, executor: Executor) -> Runner {
        let compiler = CachingCompiler::new(options.compiler.clone(), options.optimize.clone())
            .for_device(executor.device());
        Runner { compiler, executor }
    }

    pub fn executor(&mut self) -> &mut Executor {
        &mut self.executor
    }
    pub fn compiler(&mut self) -> &mut CachingCompiler {
        &mut self.compiler
    }
    pub(crate) fn into_compiler(self) -> CachingCompiler {
        self.compiler
    }

    /// Compiles the program of a minibatch, unless it is known, and starts it with the inputs.
    pub fn start(&mut self, nnet: &Nnet, request: &MinibatchRequest<'_>, purpose: Purpose) -> Result<()> {
        let program = self.compile(nnet, request, purpose)?;
        self.start_program(nnet, request, &program)
    }

    /// The program of a minibatch.
    pub fn compile(
        &mut self,
        nnet: &Nnet,
        request: &MinibatchRequest<'_>,
        purpose: Purpose,
    ) -> Result<Arc<Program>> {
        let computation = request.computation_request(purpose.derivatives, purpose.store_component_stats)?;
        Ok(self.compiler.program(nnet, &computation)?)
    }

    /// As [`Runner::compile`], with the random numbers that the reference takes while it compiles.
    pub(crate) fn compile_drawing(
        &mut self,
        nnet: &Nnet,
        request: &MinibatchRequest<'_>,
        purpose: Purpose,
        random: &Random,
    ) -> Result<Arc<Program>> {
        let computation = request.computation_request(purpose.derivatives, purpose.store_component_stats)?;
        Ok(self.compiler.program_drawing(nnet, &computation, random)?)
    }

    /// Starts the program of a minibatch, and gives it the inputs.
    pub(crate) fn start_program(
        &mut self,
        nnet: &Nnet,
        request: &MinibatchRequest<'_>,
        program: &Arc<Program>,
    ) -> Result<()> {
        self.executor.start(program).map_err(|e| e.of_minibatch(request.sequences()))?;
        for io in request.inputs() {
            let (rows, cols) = (io.features.rows(), io.features.cols());
            match &io.features {
                GeneralMatrix::Full(m) => {
                    self.executor.accept_input(nnet, &io.name, rows, cols, &m.data)?;
                }
                GeneralMatrix::Sparse(m) if self.executor.accept_sparse_input(nnet, &io.name, m)? => {}
                other => {
                    let dense = other.to_dense();
                    self.executor.accept_input(nnet, &io.name, rows, cols, &dense.data)?;
                }
            }
        }
        Ok(())
    }
}
