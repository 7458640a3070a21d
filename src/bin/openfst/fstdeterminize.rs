//! `fstdeterminize`: determinizes an FST.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Ambiguity, DELTA, Determinize, Semiring};
use nnet3::fsts::{self, WithSymbols};

/// Determinizes an FST. Arcs without input label count as arcs with a label. FSTs with arcs of type log must be acceptors.
///
/// Does not end for FSTs that cannot be determinized.
#[derive(clap::Parser)]
pub struct Options {
    /// Comparison/quantization delta
    #[arg(long = "delta", default_value_t = DELTA)]
    delta: f32,
    /// Type of determinization: "functional" (an input with several outputs is an error) or "disambiguate" (the
    /// cheapest output counts). "nonfunctional" is refused
    #[arg(long = "det_type", default_value = "functional")]
    det_type: String,
    /// Input label of arcs that write the rest of an output
    #[arg(long = "subsequential_label", default_value_t = 0)]
    subsequential_label: i32,
    /// Give such arcs from one state different labels. No effect: with these types a state has at most one
    #[arg(long = "increment_subsequential_label", default_value_t = false)]
    increment_subsequential_label: bool,
    /// State number threshold (-1: none): more states are cut away from the result, the most expensive first
    #[arg(long = "nstate", default_value_t = -1)]
    nstate: i64,
    /// Weight threshold: paths that cost more than the cheapest one and this are removed (empty: none)
    #[arg(long = "weight", default_value = "")]
    weight: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let ambiguity = match options.det_type.as_str() {
        "functional" => Ambiguity::Refuse,
        "disambiguate" => Ambiguity::Cheapest,
        other => bail!("--det_type must be functional or disambiguate, found {other}"),
    };
    if options.subsequential_label < 0 {
        bail!("--subsequential_label must not be negative, found {}", options.subsequential_label);
    }
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    let (beam, most_states) = (fsts::threshold(&options.weight)?, usize::try_from(options.nstate).ok());
    if file.semiring == Semiring::Log {
        if beam < f32::INFINITY || most_states.is_some() {
            bail!("--weight and --nstate are for arcs of type standard, which have cheapest paths");
        }
        let fst = std::mem::take(&mut file.fst).into_log();
        file.fst = ops::determinize_rounded(&fst, options.delta, usize::MAX)?.into_costs();
        file.write(options.fst_out.as_deref())?;
        return Ok(0);
    }
    let how = Determinize {
        delta: options.delta,
        ambiguity,
        end_label: options.subsequential_label,
        ..Determinize::default()
    };
    file.fst = ops::determinize_labels(file.fst, how)?;
    if beam < f32::INFINITY || most_states.is_some() {
        ops::prune(&mut file.fst, beam, most_states)?;
    }
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
