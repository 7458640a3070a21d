//! `kws-index-union`: one index of many.

use anyhow::Result;
use kaldi_cli::NOTHING_DONE;
use kaldi_fst::FstHolder;
use kaldi_kws::index::{optimize, union_of_indices};
use kaldi_kws::{HitWeight, Index};
use nnet3::messages;
use nnet3::tables::{Input, Output};

/// Take a union of the indexed lattices. The input index is in the T*T*T semiring and the output index is also in the T*T*T
/// semiring. At the end of this program, encoded epsilon removal, determinization and minimization will be applied.
///
/// The key of the result is global.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: kws-index-union ark:input.idx ark:global.idx")]
pub struct Options {
    /// If it's true, skip optimization.
    #[arg(long)]
    skip_optimization: bool,
    /// If true, exit status is 1 when no indices were read.
    #[arg(long, default_value_t = true)]
    strict: bool,
    /// Maximum states for DeterminizeStar. If it is passed, the index is not determinized.
    #[arg(long, default_value_t = -1)]
    max_states: i32,
    index_rspecifier: String,
    index_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut indices: Vec<Index> = Vec::new();
    Input::<FstHolder<HitWeight>>::open(&options.index_rspecifier)?.for_each(|_, index| {
        indices.push(index);
        Ok(())
    })?;
    let count = indices.len();
    let mut index = union_of_indices(indices);
    if options.skip_optimization {
        messages::log("Skipping index optimization...");
    } else {
        let limit = usize::try_from(options.max_states).ok().filter(|&limit| limit > 0);
        let (optimized, complete) = optimize(&index, limit)?;
        if !complete {
            messages::warn(&format!(
                "Determinization aborted since passed {} states (should affect speed of search but not results)",
                options.max_states
            ));
        }
        index = optimized;
    }
    let mut output = Output::<FstHolder<HitWeight>>::open(&options.index_wspecifier)?;
    output.write("global", &index)?;
    output.finish_any()?;
    messages::log(&format!("Done {count} indices"));
    Ok(if count > 0 || !options.strict { 0 } else { NOTHING_DONE })
}
