//! `nnet3-chain-add-post-to-egs`: chain examples with the posteriors that a model has for them.

use anyhow::Result;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::Site;
use kaldi_io::{DenseMatrix, TableWriter};
use nnet3::options::chain::ChainTrainingOptions;
use nnet3::options::device;
use nnet3::options::training::{AllocatorOptions, TrainingOptions};
use nnet3::{chain, egs, models};
use nnet3_chain::posteriors::denominator_posteriors;
use nnet3_chain::training::LWF_INPUT;
use nnet3_chain::{ChainExampleHolder, DenominatorGraph, NnetChainExample};
use nnet3_matrix::Device;
use nnet3_train::forward::ExampleForward;
use nnet3_train::sequence::output_request;
use nnet3_train::{Error, NnetIo};

const SITE: Site = Site::main("nnet3-chain-add-post-to-egs.cc", 1);

/// Time step between rows of posteriors in the examples.
const STEP: i32 = 3;

/// This program reads chain examples that have not been merged, computes the network's outputs for them, and adds these
/// as inputs named '__LWF-posteriors'. nnet3-chain-train adds them to derivatives (--lwf-scale, --lwf-den-scale). So a
/// model does not forget the training of another one.
///
/// Training options have no effect, but for those about compilation and --leaky-hmm-coefficient.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-chain-add-post-to-egs --type=den 0.raw den.fst ark:1.cegs ark:2.cegs")]
pub struct Options {
    /// raw|den: add the output itself, or the posteriors of the denominator
    #[arg(long = "type", default_value = "raw", value_parser = ["raw", "den"])]
    kind: String,
    /// Posteriors of the denominator below this are set to zero
    #[arg(long, default_value_t = 0.0)]
    clip_threshold: f32,
    /// With --type=raw, apply the exponential function to the output
    #[arg(long, default_value_t = true)]
    apply_exp: bool,
    /// If true, set test-mode to true on any BatchNormComponents.
    #[arg(long, default_value_t = false)]
    batchnorm_test_mode: bool,
    /// If true, set test-mode to true on any DropoutComponents and DropoutMaskComponents.
    #[arg(long, default_value_t = false)]
    dropout_test_mode: bool,
    /// Only for training
    #[arg(long, default_value_t = true)]
    apply_deriv_weights: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    #[command(flatten)]
    training: TrainingOptions,
    #[command(flatten)]
    chain: ChainTrainingOptions,
    #[command(flatten)]
    allocator: AllocatorOptions,
    raw_nnet_in: String,
    denominator_fst: String,
    #[arg(value_name = "<egs-rspecifier>")]
    egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    egs_out: String,
}

/// Computes posteriors.
struct Teacher {
    forward: ExampleForward,
    graph: DenominatorGraph,
    device: Device,
}

impl Teacher {
    fn posteriors(
        &mut self,
        example: &NnetChainExample,
        options: &Options,
    ) -> nnet3_train::Result<DenseMatrix<f32>> {
        let output = chain::only_output(example)?;
        let sequences = output.supervision.num_sequences;
        if sequences != 1 {
            return Err(Error::data(format!(
                "the example has {sequences} sequences, expected one that has not been merged"
            )));
        }
        if example.inputs.iter().any(|io| io.name == LWF_INPUT) {
            return Err(Error::data(format!("the example has '{LWF_INPUT}' already")));
        }
        let request = output_request(self.forward.nnet(), example, output)?;
        let mut value = self.forward.output_of(&request, &output.name)?;
        if options.kind == "den" {
            let leak = options.chain.leaky_hmm_coefficient;
            value = denominator_posteriors(&self.graph, &value, sequences, leak, &self.device)?.posteriors;
            let small = value.data.iter_mut().filter(|x| x.abs() < options.clip_threshold);
            small.for_each(|x| *x = 0.0);
        } else if options.apply_exp {
            value.data.iter_mut().for_each(|x| *x = x.exp());
        }
        Ok(value)
    }
}

pub fn run(options: Options) -> Result<u8> {
    options.allocator.check()?;
    options.chain.chain_options()?;
    let compile = options.training.trainer_options(1)?.compile;
    let device = options.device.select(&options.use_gpu)?;
    let mut nnet = models::load(&options.raw_nnet_in)?;
    if options.batchnorm_test_mode {
        nnet.set_batchnorm_test_mode(true);
    }
    if options.dropout_test_mode {
        nnet.set_dropout_test_mode(true);
    }
    let graph = chain::read_denominator(&options.denominator_fst, &nnet)?;
    let forward = ExampleForward::with_options(nnet, &compile, &device);
    let mut teacher = Teacher { forward, graph, device };
    let mut egs = egs::open::<NnetChainExample>(&options.egs_in)?;
    if egs.at_end()? {
        return egs::nothing(&SITE, egs);
    }
    let mut writer = TableWriter::<ChainExampleHolder>::open(&options.egs_out)?;
    while let Some((key, mut example)) = egs.next()? {
        let posteriors = teacher.posteriors(&example, &options).map_err(|e| egs.blame(e))?;
        example.inputs.push(NnetIo::new(LWF_INPUT, posteriors.into(), 0, STEP));
        writer.write(&key, &example)?;
    }
    let count = egs.count();
    egs.close()?;
    writer.close()?;
    kaldi_log!(SITE, "Read {count} neural-network training examples, wrote {count}");
    Ok(0)
}
