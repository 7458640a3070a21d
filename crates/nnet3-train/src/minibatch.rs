//! Running a minibatch: its program, its inputs.

use crate::error::Result;
use crate::request::MinibatchRequest;
use kaldi_io::GeneralMatrix;
use nnet3_core::execute::Executor;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;

/// How requests become programs.
#[derive(Debug, Clone, Default)]
pub struct CompileOptions {
    pub compiler: CompilerOptions,
    pub optimize: OptimizeOptions,
}

/// What is done with a minibatch besides computing its outputs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Purpose {
    /// Derivatives of all outputs will be supplied, those of the parameters are wanted.
    pub derivatives: bool,
    pub store_component_stats: bool,
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

    /// Starts the program of a minibatch, and gives it the inputs.
    pub fn start(&mut self, nnet: &Nnet, request: &MinibatchRequest<'_>, purpose: Purpose) -> Result<()> {
        let computation = request.computation_request(purpose.derivatives, purpose.store_component_stats)?;
        let program = self.compiler.program(nnet, &computation)?;
        self.executor.start(&program).map_err(|e| e.of_minibatch(request.sequences()))?;
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
