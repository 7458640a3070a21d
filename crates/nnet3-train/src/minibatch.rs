//! Running a minibatch: its program, its inputs.

use std::sync::Arc;

use crate::error::Result;
use crate::example::NnetExample;
use crate::request::minibatch_request;
use kaldi_io::GeneralMatrix;
use nnet3_core::compile::cache::{CachingCompiler, CompilerOptions};
use nnet3_core::execute::{Executor, Program};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;

/// How requests become programs.
#[derive(Debug, Clone, Default)]
pub struct CompileOptions {
    pub compiler: CompilerOptions,
    pub optimize: OptimizeOptions,
}

/// Compiles minibatches and hands them to an executor.
pub struct Runner {
    compiler: CachingCompiler,
    executor: Executor,
}

impl Runner {
    pub fn new(options: &CompileOptions, executor: Executor) -> Runner {
        let compiler = CachingCompiler::new(options.compiler.clone(), options.optimize.clone());
        Runner { compiler, executor }
    }

    pub fn executor(&mut self) -> &mut Executor {
        &mut self.executor
    }
    pub fn compiler(&mut self) -> &mut CachingCompiler {
        &mut self.compiler
    }
    pub fn into_compiler(self) -> CachingCompiler {
        self.compiler
    }

    /// The program of a minibatch.
    pub fn program(
        &mut self,
        nnet: &Nnet,
        minibatch: &NnetExample,
        derivatives: bool,
        store_component_stats: bool,
    ) -> Result<Arc<Program>> {
        let request = minibatch_request(nnet, minibatch, derivatives, store_component_stats)?;
        Ok(self.compiler.program(nnet, &request)?)
    }

    /// Starts a program and gives it the inputs that the minibatch has.
    pub fn start(&mut self, nnet: &Nnet, program: &Arc<Program>, minibatch: &NnetExample) -> Result<()> {
        self.executor.start(program).map_err(|e| e.of_minibatch(sequences(minibatch)))?;
        for io in minibatch.ios.iter().filter(|io| nnet.find_input(&io.name).is_some()) {
            let (rows, cols) = (io.features.rows(), io.features.cols());
            match &io.features {
                GeneralMatrix::Full(m) => {
                    self.executor.accept_input(nnet, &io.name, rows, cols, &m.data)?;
                }
                other => {
                    let dense = other.to_dense();
                    self.executor.accept_input(nnet, &io.name, rows, cols, &dense.data)?;
                }
            }
        }
        Ok(())
    }
}

/// Sequences that a minibatch was merged from.
fn sequences(minibatch: &NnetExample) -> usize {
    let last = minibatch.ios.iter().flat_map(|io| &io.indexes).map(|index| index.n).max();
    last.map_or(1, |n| n as usize + 1)
}
