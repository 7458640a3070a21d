//! `fstmap`: changes the arcs of an FST one by one.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, MapArcs, Semiring};
use nnet3::fsts::{self, WithSymbols};

/// Applies an operation to each arc of an FST.
#[derive(clap::Parser)]
pub struct Options {
    /// Comparison/quantization delta
    #[arg(long = "delta", default_value_t = 1.0 / 1024.0)]
    delta: f32,
    /// Map operation, one of: "arc_sum", "arc_unique", "identity", "input_epsilon", "invert", "output_epsilon", "plus" (--weight),
    /// "power" (--power), "quantize" (--delta), "rmweight", "superfinal", "times" (--weight), "to_log", "to_std"
    #[arg(long = "map_type", default_value = "identity")]
    map_type: String,
    /// Power parameter
    #[arg(long = "power", default_value_t = 1.0)]
    power: f32,
    /// Weight parameter (empty: that which changes no cost)
    #[arg(long = "weight", default_value = "")]
    weight: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    let weight = |neutral: f32| fsts::weight(&options.weight, neutral);
    let change = match options.map_type.as_str() {
        "arc_sum" => MapArcs::Sum,
        "arc_unique" => MapArcs::Unique,
        "identity" => MapArcs::Identity,
        "input_epsilon" => MapArcs::NoInput,
        "output_epsilon" => MapArcs::NoOutput,
        "invert" => MapArcs::Invert,
        "plus" => MapArcs::Plus(weight(f32::INFINITY)?),
        "power" => MapArcs::Power(options.power),
        "quantize" => MapArcs::Quantize(options.delta),
        "rmweight" => MapArcs::NoCosts,
        "superfinal" => MapArcs::OneEnd,
        "times" => MapArcs::Times(weight(0.0)?),
        "to_log" | "to_std" => {
            file.semiring = if options.map_type == "to_log" { Semiring::Log } else { Semiring::Tropical };
            MapArcs::Identity
        }
        other => bail!(
            "Unknown or unsupported map type: {other}; expected arc_sum, arc_unique, identity, input_epsilon, invert, output_epsilon, \
             plus, power, quantize, rmweight, superfinal, times, to_log or to_std"
        ),
    };
    ops::map_arcs(&mut file.fst, file.semiring, change);
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
