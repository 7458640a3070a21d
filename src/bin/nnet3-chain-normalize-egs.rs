//! `nnet3-chain-normalize-egs`: chain examples with the costs of the normalization FST.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use kaldi_io::{TableWriter, kaldi_log, kaldi_warn};
use nnet3::egs;
use nnet3_chain::normalize::Normalization;
use nnet3_chain::{ChainExampleHolder, NnetChainExample};
use nnet3_train::{EgsReader, Error};

const SITE: Site = Site::main("nnet3-chain-normalize-egs.cc", 94);

/// Add weights from 'normalization' FST to chain examples.
///
/// Should be done if and only if the <normalization-fst> argument of nnet3-chain-get-egs was not supplied when the
/// original egs were created. Examples of which nothing is left are skipped with a warning.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-chain-normalize-egs dir/normalization.fst ark:train_in.cegs ark:train_out.cegs\n\
    See also: nnet3-chain-copy-egs, nnet3-chain-merge-egs"
)]
struct Options {
    /// Scale the weights from the 'normalization' FST before applying them to the examples (useful for semi-supervised
    /// training)
    #[arg(long, default_value_t = 1.0)]
    normalization_fst_scale: f32,
    normalization_fst: String,
    #[arg(value_name = "<egs-rspecifier>")]
    egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    egs_out: String,
}

fn run(options: Options) -> Result<u8> {
    let fst = kaldi_fst::read_fst(&options.normalization_fst)?;
    let normalization = Normalization::new(fst, options.normalization_fst_scale)
        .map_err(|e| anyhow::Error::from(e).context(options.normalization_fst.clone()))?;
    let mut egs = EgsReader::<NnetChainExample>::open(&options.egs_in)?;
    if egs.at_end()? {
        return egs::nothing(&SITE, egs);
    }
    let mut writer = TableWriter::<ChainExampleHolder>::open(&options.egs_out)?;
    let (mut written, mut errors) = (0u64, 0u64);
    while let Some((key, mut example)) = egs.next()? {
        let [output] = &mut example.outputs[..] else {
            return Err(egs.blame(Error::data("expected the example to have exactly one output")).into());
        };
        match normalization.apply(&output.supervision).map_err(|e| egs.blame(e))? {
            Ok(supervision) => {
                output.supervision = supervision;
                writer.write(&key, &example)?;
                written += 1;
            }
            Err(rejection) => {
                kaldi_warn!(SITE, "For example {key}: {rejection}");
                errors += 1;
            }
        }
    }
    egs.close()?;
    writer.close()?;
    kaldi_log!(SITE, "Added normalization to {written} egs; had errors on {errors}");
    Ok(u8::from(written == 0))
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
