//! `gmm-rescore-lattice`: replaces the acoustic costs of lattices by a Gaussian model's.

use anyhow::{Context, Result};
use kaldi_cli::kaldi_warn;
use kaldi_cli::log::Site;
use kaldi_io::RandomReader;
use kaldi_io::holder::MatrixHolder;
use nnet3::tables::{self, Input, Output};
use nnet3::{gaussians, lattices, messages};
use nnet3_decode::acoustic::{Rescored, add_acoustic_costs};
use nnet3_decode::{CompactLatticeHolder, Scale};

use crate::recognition::gaussians::GaussianDecodable;

const RESCORE: Site = Site::new("RescoreCompactLatticeInternal", "lattice-functions.cc", 1436);

/// Replace the acoustic scores on a lattice using a new model.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: gmm-rescore-lattice 1.mdl ark:1.lats scp:trn.scp ark:2.lats")]
pub struct Options {
    /// Add the current acoustic scores with some scale.
    #[arg(long, default_value_t = 0.0)]
    old_acoustic_scale: f32,
    model_in: String,
    lattice_rspecifier: String,
    feature_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (transitions, model) = gaussians::read_model(&options.model_in)?;
    let mut features = RandomReader::<MatrixHolder>::open(&options.feature_rspecifier)?;
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattice_wspecifier)?;
    let scale = Scale::new(1.0, options.old_acoustic_scale.into());
    let mut frames = 0;
    Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?.for_each(|key, lattice| {
        let Some(features) = features.get(key)? else {
            messages::warn(&format!("No feature found for utterance {key}. Skipping"));
            output.failed += 1;
            return Ok(());
        };
        if features.rows == 0 {
            output.skip_as(&tables::no_frames(key));
            return Ok(());
        }
        let mut lattice = match lattices::scaled(lattice, scale) {
            Ok(lattice) => lattice,
            Err(error) => {
                output.skip(key, error);
                return Ok(());
            }
        };
        let decodable = GaussianDecodable::new(&model, features, transitions.pdfs(), 1.0);
        let decodable = match decodable.with_context(|| options.feature_rspecifier.clone())? {
            Ok(decodable) => decodable,
            Err(skip) => {
                output.leave_out(key, &skip);
                return Ok(());
            }
        };
        match add_acoustic_costs(&mut lattice, transitions.num_transition_ids(), &decodable) {
            Ok(Rescored::Done) => {
                frames += features.rows;
                return output.write(key, &lattice);
            }
            Ok(Rescored::Empty) => kaldi_warn!(RESCORE, "Rescoring empty lattice"),
            Ok(Rescored::TooShort { lattice, frames }) => kaldi_warn!(
                RESCORE,
                "Features are too short for lattice: utt-len is {lattice}, {} is last frame",
                frames as i64 - 1
            ),
            Err(error) => messages::warn(&format!("{key}: {error}")),
        }
        output.failed += 1;
        Ok(())
    })?;
    features.close()?;
    messages::log(&format!(
        "Done {} lattices with errors on {}, #frames is {frames}",
        output.done, output.failed
    ));
    output.finish()
}
