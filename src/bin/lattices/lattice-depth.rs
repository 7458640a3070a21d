//! `lattice-depth`: the mean number of arcs that cross a frame.

use anyhow::Result;
use kaldi_cli::log::{num, ratio};
use kaldi_io::holder::FloatHolder;
use nnet3::tables::Input;
use nnet3::{lattices, messages};
use nnet3_decode::prune::depth_per_frame;
use nnet3_decode::{CompactLattice, CompactLatticeHolder, order};

/// Compute the lattice depths in terms of the average number of arcs that cross a frame.
///
/// See also lattice-depth-per-frame.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-depth ark:- ark,t:-")]
pub struct Options {
    lattice_rspecifier: String,
    depth_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut writer = lattices::open_writer::<FloatHolder>(options.depth_wspecifier.as_ref())?;
    let (mut done, mut sum, mut frames) = (0, 0.0, 0.0);
    input.for_each(|key, lattice| {
        let (arcs, length) = match depth(lattice) {
            Ok(found) => found,
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                return Ok(());
            }
        };
        lattices::write(&mut writer, key, &((arcs / length) as f32))?;
        done += 1;
        sum += arcs;
        frames += length;
        Ok(())
    })?;
    messages::log(&format!("Done {done} lattices."));
    // Warning: the next line is parsed by scripts.
    messages::log(&format!("Overall density is {} over {} frames.", ratio(sum, frames), num(frames)));
    if done == 0 {
        return Ok(kaldi_cli::NOTHING_DONE);
    }
    lattices::close(writer)?;
    Ok(0)
}

/// Returns the sum of the frames of all arcs, and the frames of the lattice.
fn depth(lattice: CompactLattice) -> nnet3_decode::Result<(f64, f64)> {
    let mut lattice = lattices::nonempty(lattice)?;
    order::sort(&mut lattice)?;
    let depths = depth_per_frame(&lattice)?;
    if depths.is_empty() {
        return Err(nnet3_decode::Error::Data("the lattice has no frames".to_owned()));
    }
    Ok((depths.iter().map(|&depth| f64::from(depth)).sum(), depths.len() as f64))
}
