//! `lattice-compose`: composition of lattices with lattices or FSTs.

use anyhow::{Result, bail};
use kaldi_fst::FstHolder;
use nnet3::lattices::{self, LatticeOutput};
use nnet3::messages;
use nnet3::tables::{self, Input};
use nnet3_decode::compose::{AsLatticeWeight, Matching, SecondFst, compose};
use nnet3_decode::{Lattice, LatticeHolder};

/// Composes lattices (in transducer form, as type Lattice) with other lattices, or with FSTs.
///
/// Output labels of the first are matched with input labels of the second. If the second argument is a file name (and not a
/// table), it is an FST with which all lattices are composed.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-compose ark:1.lats ark:2.lats ark:composed.lats\n\
    or: lattice-compose ark:1.lats G.fst ark:composed.lats")]
pub struct Options {
    /// If true, write in normal (compact) form.
    #[arg(long, default_value_t = true)]
    write_compact: bool,
    /// If >0, the label on backoff arcs of the LM
    #[arg(long, default_value_t = -1)]
    phi_label: i32,
    /// If >0, the label that forwards the rest of the words
    #[arg(long, default_value_t = -1)]
    rho_label: i32,
    /// Number of states that Kaldi caches of the FST. It has no effect: the whole FST is kept
    #[arg(long, default_value_t = 50000)]
    num_states_cache: i32,
    /// If true, the second argument is a table of FSTs, or one FST; if false, a table of lattices; if auto, a table of
    /// lattices or one FST
    #[arg(long, default_value = "auto", value_parser = ["auto", "true", "false"])]
    compose_with_fst: String,
    lattice_rspecifier1: String,
    #[arg(value_name = "(<lattice-rspecifier2>|<fst-rspecifier2>|<fst-rxfilename2>)")]
    second: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    for (name, label) in [("phi", options.phi_label), ("rho", options.rho_label)] {
        if label < -1 || label == 0 {
            bail!("--{name}-label={label}: expected a label above 0, or -1 for none");
        }
    }
    let matching = match (options.phi_label, options.rho_label) {
        (phi, rho) if phi > 0 && rho > 0 => bail!("You cannot set both --phi-label and --rho-label"),
        (phi, _) if phi > 0 => Matching::BackOff(phi),
        (_, rho) if rho > 0 => Matching::Rest(rho),
        _ => Matching::Exact,
    };
    let mut output = LatticeOutput::open(&options.lattice_wspecifier, options.write_compact)?;
    let mut failed = 0;
    let (first, second) = (&*options.lattice_rspecifier1, &*options.second);
    let with_fst = options.compose_with_fst == "true";
    if !tables::is_input(second) {
        if options.compose_with_fst == "false" {
            bail!(
                "--compose-with-fst=false: {second} is one FST; that is unimplemented, give a table of lattices"
            );
        }
        let fst = SecondFst::new(kaldi_fst::read_fst(second)?, matching)?;
        Input::<LatticeHolder>::open(first)?
            .for_each(|key, lattice| write(key, compose(&lattice, &fst), &mut output, &mut failed))?;
    } else if with_fst {
        lattices::for_each_pair::<LatticeHolder, FstHolder>(first, second, |key, lattice, fst| {
            with_own(key, &lattice, fst, matching, &mut output, &mut failed)
        })?;
    } else {
        lattices::for_each_pair::<LatticeHolder, LatticeHolder>(first, second, |key, lattice, other| {
            with_own(key, &lattice, other, matching, &mut output, &mut failed)
        })?;
    }
    messages::log(&format!("Done {} lattices; failed for {failed}", output.done()));
    output.finish()
}

/// Composes a lattice with the FST that the second table has for it.
fn with_own<W: AsLatticeWeight>(
    key: &str,
    lattice: &Lattice,
    other: Option<kaldi_fst::Fst<W>>,
    matching: Matching,
    output: &mut LatticeOutput,
    failed: &mut u64,
) -> Result<()> {
    let Some(other) = other else {
        messages::warn(&format!(
            "Not producing output for utterance {key} because not present in second table."
        ));
        *failed += 1;
        return Ok(());
    };
    let composed = SecondFst::new(other, matching).and_then(|other| compose(lattice, &other));
    write(key, composed, output, failed)
}

fn write(
    key: &str,
    composed: nnet3_decode::Result<Lattice>,
    output: &mut LatticeOutput,
    failed: &mut u64,
) -> Result<()> {
    let reason = match composed {
        Ok(composed) if composed.start.is_some() => return output.write_lattice(key, &composed),
        Ok(_) => format!("Empty lattice for utterance {key} (incompatible LM?)"),
        Err(error) => format!("{key}: {error}"),
    };
    messages::warn(&reason);
    *failed += 1;
    Ok(())
}
