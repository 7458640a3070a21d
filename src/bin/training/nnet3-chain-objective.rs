//! `nnet3-chain-objective`: the objective of chain training, its parts and its derivatives.

use anyhow::{Context, Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{DenseMatrix, SequentialReader, TableWriter, read_object};
use nnet3::messages;
use nnet3::options::chain::ChainTrainingOptions;
use nnet3_chain::{ChainObjective, ChainScratch, DenominatorGraph, Supervision, evaluate};
use nnet3_matrix::{Matrix, cpu};

/// Compute the 'chain' (LF-MMI) objective of a network's output, and its derivative.
///
/// Reads a denominator FST, the supervision of one minibatch (in the form of chain examples), and the output of the
/// network. The output is one matrix, with a row for each sequence of the first frame, then of the second, and so on.
/// Writes the derivative with the same key and, if it has a name, the derivative for an 'xent' output. Standard output
/// gets one JSON object: the objective, the term for l2 regularization, the weight, and the weighted log-probabilities
/// of numerator and denominator. Divide by the weight for values per frame. Values that are not finite are null.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-chain-objective --leaky-hmm-coefficient=0.1 den.fst supervision ark:output.ark ark:deriv.ark\n\
    See also: nnet3-chain-compute-prob, nnet3-chain-train"
)]
pub struct Options {
    #[command(flatten)]
    chain: ChainTrainingOptions,
    /// If true, the derivative has the penalty for outputs beyond +-30, which training applies to a random half of the
    /// minibatches
    #[arg(long, default_value_t = false)]
    out_of_range_penalty: bool,
    #[arg(value_name = "<den-fst>")]
    den_fst: String,
    #[arg(value_name = "<supervision-rxfilename>")]
    supervision_rxfilename: String,
    #[arg(value_name = "<nnet-output-rspecifier>")]
    nnet_output_rspecifier: String,
    #[arg(value_name = "<deriv-wspecifier>")]
    deriv_wspecifier: String,
    #[arg(value_name = "<xent-deriv-wspecifier>")]
    xent_deriv_wspecifier: Option<String>,
}

/// The one matrix of a table.
fn read_output(rspecifier: &str) -> Result<(String, DenseMatrix<f32>)> {
    let mut reader = SequentialReader::<MatrixHolder>::open(rspecifier)?;
    let Some(output) = reader.next()? else { bail!("{rspecifier}: expected one matrix, found none") };
    if let Some((key, _)) = reader.next()? {
        bail!("{rspecifier}: expected one matrix, found '{key}' after '{}'", output.0);
    }
    reader.close()?;
    Ok(output)
}

fn write(wspecifier: &str, key: &str, matrix: &Matrix) -> Result<()> {
    let mut writer = TableWriter::<MatrixHolder>::open(wspecifier)?;
    let (rows, cols) = (matrix.rows(), matrix.cols());
    writer.write(key, &DenseMatrix { rows, cols, data: matrix.to_vec() })?;
    Ok(writer.close()?)
}

/// Numbers that are not finite are null.
fn json(objective: &ChainObjective) -> String {
    let ChainObjective { objf, l2_term, weight, numerator, denominator, failed, .. } = objective;
    let object = serde_json::json!({
        "objf": objf,
        "l2_term": l2_term,
        "weight": weight,
        "objf_per_frame": objf / weight,
        "numerator_logprob_weighted": numerator,
        "denominator_logprob_weighted": denominator,
        "failed": failed.is_some(),
    });
    format!("{object}\n")
}

pub fn run(options: Options) -> Result<u8> {
    let chain = options.chain.chain_options()?;
    let (key, output) = read_output(&options.nnet_output_rspecifier)?;
    let fst = kaldi_fst::read_fst(&options.den_fst)?;
    let graph = DenominatorGraph::new(&fst, output.cols).with_context(|| options.den_fst.clone())?;
    let supervision: Supervision = read_object(&options.supervision_rxfilename)?;
    supervision.check().with_context(|| options.supervision_rxfilename.clone())?;
    let device = cpu();
    let (rows, cols) = (output.rows, output.cols);
    let output = Matrix::from_vec(rows, cols, output.data);
    let mut deriv = Matrix::zeros(&device, rows, cols);
    let xent_wspecifier = options.xent_deriv_wspecifier.filter(|name| !name.is_empty());
    let mut xent_deriv = xent_wspecifier.as_ref().map(|_| Matrix::zeros(&device, rows, cols));
    let objective = evaluate(
        &chain,
        &graph,
        &supervision,
        output.view(),
        options.out_of_range_penalty,
        Some(deriv.view_mut()),
        xent_deriv.as_mut().map(Matrix::view_mut),
        &mut ChainScratch::new(&device),
    )
    .with_context(|| format!("{} for {}", options.supervision_rxfilename, options.nnet_output_rspecifier))?;
    for failure in objective.failed.iter().chain(&objective.doubtful) {
        messages::warn(&failure.to_string());
    }
    write(&options.deriv_wspecifier, &key, &deriv)?;
    if let Some((wspecifier, xent_deriv)) = xent_wspecifier.zip(xent_deriv) {
        write(&wspecifier, &key, &xent_deriv)?;
    }
    StandardOutput::print(json(&objective))?;
    Ok(0)
}
