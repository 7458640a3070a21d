//! `nnet3-chain-compute-post`: features in, posteriors of the denominator graph out.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::{Site, ratio};
use kaldi_cli::{kaldi_log, kaldi_vlog, kaldi_warn};
use kaldi_io::{DenseMatrix, read_object};
use nnet3::forward::{self, Counts, Tables};
use nnet3::options::device;
use nnet3::options::forward::{IvectorOptions, SimpleOptions};
use nnet3::{chain, models, prepare, training_log};
use nnet3_chain::posteriors::denominator_posteriors;
use nnet3_core::forward::{GroupedForward, OutputScaling};
use nnet3_matrix::{Gemm, Matrix, WeightForm, cpu};

const SITE: Site = Site::main("nnet3-chain-compute-post.cc", 1);

/// Compute posteriors from the 'denominator FST' of a chain model and optionally map them to phones.
///
/// Each utterance is one sequence. If --transform-mat is given, each row of posteriors is multiplied by that matrix;
/// its number of rows is the dimension of the output.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-chain-compute-post --transform-mat=transform.mat final.raw den.fst scp:feats.scp ark:post.ark\n\
    See also: nnet3-compute"
)]
pub struct Options {
    /// Coefficient that allows transitions from each HMM state to each other HMM state (above 0 and below 1)
    #[arg(long, default_value_t = 0.1)]
    leaky_hmm_coefficient: f32,
    /// Location to read the matrix to transform posteriors with
    #[arg(long, default_value = "")]
    transform_mat: String,
    /// Multiply the output by this
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    #[command(flatten)]
    simple: SimpleOptions,
    #[command(flatten)]
    ivector: IvectorOptions,
    raw_nnet_in: String,
    denominator_fst: String,
    features_rspecifier: String,
    matrix_wspecifier: String,
}

/// Rows times the transposed matrix.
fn transformed(posteriors: DenseMatrix<f32>, by: &DenseMatrix<f32>) -> DenseMatrix<f32> {
    let device = cpu();
    let (rows, cols) = (posteriors.rows, by.rows);
    let posteriors = Matrix::from_vec(rows, posteriors.cols, posteriors.data);
    let by = Matrix::from_vec(cols, by.cols, by.data.clone());
    let mut out = Matrix::zeros(&device, rows, cols);
    device.gemm(Gemm::set(out.view_mut(), posteriors.view(), by.view().transposed()));
    DenseMatrix { rows, cols, data: out.to_vec() }
}

pub fn run(options: Options) -> Result<u8> {
    let leak = options.leaky_hmm_coefficient;
    if !(leak > 0.0 && leak < 1.0) {
        bail!("--leaky-hmm-coefficient={leak}: expected a number above 0 and below 1");
    }
    if options.acoustic_scale.is_nan() || options.acoustic_scale <= 0.0 {
        bail!("--acoustic-scale={}: expected a number above 0", options.acoustic_scale);
    }
    let device = options.device.select(&options.use_gpu)?;
    let mut nnet = models::load(&options.raw_nnet_in)?;
    prepare::for_running(&mut nnet)?;
    let graph = chain::read_denominator(&options.denominator_fst, &nnet)?;
    let transform = match options.transform_mat.as_str() {
        "" => None,
        file => Some(read_object::<DenseMatrix<f32>>(file)?),
    };
    if let Some(found) = transform.as_ref().map(|matrix| matrix.cols).filter(|&n| n != graph.num_pdfs()) {
        bail!(
            "{}: the matrix has {found} columns, expected one for each of the {} pdfs of the network",
            options.transform_mat,
            graph.num_pdfs()
        );
    }
    nnet.to_device(&device);
    nnet.arrange_weights(&device, WeightForm::Float);
    let simple = &options.simple;
    let (chunking, compiler) = (simple.chunking(&nnet)?, simple.compiler()?);
    let scaling = OutputScaling { log_priors: Vec::new(), scale: options.acoustic_scale };
    let forward = GroupedForward::new(&nnet, &device, chunking, scaling, compiler, 1);
    let mut forward = forward.with_context(|| options.raw_nnet_in.clone())?;
    forward.executors().iter_mut().for_each(|executor| simple.observe(executor));

    let (mut log_probability, mut frames) = (0.0, 0usize);
    let mut finish = |utterance: &str, output: DenseMatrix<f32>| {
        let found = match denominator_posteriors(&graph, &output, 1, leak, &device) {
            Ok(found) => found,
            Err(e) => {
                kaldi_warn!(SITE, "Something went wrong for utterance {utterance}: {e}");
                return Ok(None);
            }
        };
        log_probability += found.log_probability;
        frames += output.rows;
        let per_frame = ratio(found.log_probability, output.rows as f64);
        let rows = output.rows;
        kaldi_vlog!(
            1,
            SITE,
            "For utterance {utterance}, log-prob per frame was {per_frame} over {rows} frames."
        );
        Ok(Some(match &transform {
            Some(matrix) => transformed(found.posteriors, matrix),
            None => found.posteriors,
        }))
    };
    let tables = Tables { features: &options.features_rspecifier, outputs: &options.matrix_wspecifier };
    let counts = forward::compute(SITE, &options.ivector, tables, &mut forward, &mut finish)?;
    training_log::compilation(forward.compiler());
    let Counts { done, failed, .. } = counts;
    kaldi_log!(SITE, "Done {done} utterances, failed for {failed}");
    let per_frame = ratio(log_probability, frames as f64);
    kaldi_log!(SITE, "Overall log-prob per (output) frame was {per_frame} over {frames} frames.");
    Ok(if done > 0 { 0 } else { kaldi_cli::NOTHING_DONE })
}
