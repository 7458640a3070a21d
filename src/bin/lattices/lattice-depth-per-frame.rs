//! `lattice-depth-per-frame`: numbers of arcs at each frame.

use anyhow::Result;
use kaldi_io::holder::I32VectorHolder;
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::prune::depth_per_frame;
use nnet3_decode::{CompactLatticeHolder, order};

/// For each lattice, compute a vector of length (num-frames) saying how many arcs cross each frame.
///
/// The final <lattice-wspecifier> allows you to write the input lattices out in case you want to do something else with
/// them as part of the same pipe.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-depth-per-frame ark:- ark,t:-")]
pub struct Options {
    lattice_rspecifier: String,
    depth_wspecifier: String,
    lattice_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = Output::<I32VectorHolder>::open(&options.depth_wspecifier)?;
    let mut copies = lattices::open_writer::<CompactLatticeHolder>(options.lattice_wspecifier.as_ref())?;
    input.for_each(|key, lattice| {
        let measured = lattices::nonempty(lattice).and_then(|mut lattice| {
            order::sort(&mut lattice)?;
            Ok((depth_per_frame(&lattice)?, lattice))
        });
        match measured {
            Ok((depths, lattice)) => {
                output.write(key, &depths)?;
                lattices::write(&mut copies, key, &lattice)
            }
            Err(error) => {
                output.skip(key, error);
                Ok(())
            }
        }
    })?;
    messages::log(&format!("Done {} lattices.", output.done));
    lattices::close(copies)?;
    output.finish()
}
