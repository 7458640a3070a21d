//! `fsttablecompose`: composes transducers.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Side};
use kaldi_fst::{Fst, FstHolder};
use kaldi_io::RandomReader;
use nnet3::tables::{Input, Output, is_input, is_output};
use nnet3::{fsts, messages};

/// Composition algorithm [between two FSTs of standard type, in tropical semiring].
///
/// Both are files, or the second one is a table, or both are tables. Empty moves of the first FST come before empty
/// moves of the second one. If the operands have no arcs without input and output, the result has none.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fsttablecompose L_disambig.fst G.fst LG.fst\n  \
    fsttablecompose L_disambig.fst ark:train.fsts ark:train.lg.fsts")]
pub struct Options {
    /// If true, trim FST before output
    #[arg(long, default_value_t = true)]
    connect: bool,
    /// Side of composition to do table match, one of: "left" or "right". The result is the same.
    #[arg(long, default_value = "left")]
    match_side: String,
    /// Composition filter to use, one of: "alt_sequence", "auto", "match", "sequence". All mean "sequence".
    #[arg(long, default_value = "sequence")]
    compose_filter: String,
    fst1_in: String,
    fst2_in: String,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    if !matches!(options.match_side.as_str(), "left" | "right") {
        bail!("Invalid match-side option: {}; expected left or right", options.match_side);
    }
    if !matches!(options.compose_filter.as_str(), "alt_sequence" | "auto" | "match" | "sequence") {
        bail!(
            "Invalid compose-filter option: {}; expected alt_sequence, auto, match or sequence",
            options.compose_filter
        );
    }
    let (first, second) = (options.fst1_in.as_str(), options.fst2_in.as_str());
    let to = options.fst_out.as_deref().unwrap_or_default();
    let compose = |first: &Fst, second: &Fst| fsts::compose(first, second, options.connect);
    match (is_input(first), is_input(second), is_output(to)) {
        (false, false, false) => {
            let mut first = fsts::read(Some(first))?;
            sort_first(&mut first);
            let second = fsts::read(Some(second))?;
            if !is_sorted(&second, Side::Input) {
                messages::warn("The second FST is not ilabel sorted.");
            }
            fsts::write(Some(to), &compose(&first, &second)?)?;
            Ok(0)
        }
        (false, true, true) if options.match_side == "left" => {
            let mut first = fsts::read(Some(first))?;
            sort_first(&mut first);
            let mut output = Output::<FstHolder>::open(to)?;
            Input::<FstHolder>::open(second)?
                .for_each(|key, second| output.write(key, &compose(&first, &second)?))?;
            messages::log(&format!("Composed {} FSTs.", output.done));
            output.finish()
        }
        (true, true, true) => {
            let mut others = RandomReader::<FstHolder>::open(second)?;
            let mut output = Output::<FstHolder>::open(to)?;
            let mut failed = 0;
            Input::<FstHolder>::open(first)?.for_each(|key, first| {
                let Some(second) = others.get(key)? else {
                    messages::warn(&format!("No such key {key} in second table."));
                    failed += 1;
                    return Ok(());
                };
                let composed = compose(&first, second)?;
                if composed.states.is_empty() {
                    messages::warn(&format!("Empty output for key {key}"));
                    failed += 1;
                    return Ok(());
                }
                output.write(key, &composed)
            })?;
            let done = output.done;
            messages::log(&format!("Successfully composed {done} FSTs, errors or empty output on {failed}"));
            output.finish_any()
        }
        (false, false, true) | (_, _, false) => bail!("Incompatible combination of archives and files"),
        _ => bail!(
            "the first FST is a table and the second is not, or the match side is right and the second is a table: \
             such combinations are not supported"
        ),
    }
}

fn is_sorted(fst: &Fst, side: Side) -> bool {
    fst.states.iter().all(|state| state.arcs.is_sorted_by_key(|arc| side.label(arc)))
}

fn sort_first(first: &mut Fst) {
    if !is_sorted(first, Side::Output) {
        messages::warn("The first FST is not olabel sorted.");
        ops::sort_arcs(first, Side::Output);
    }
}
