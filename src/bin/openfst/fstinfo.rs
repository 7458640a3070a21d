//! `fstinfo`: prints counts and properties of an FST.

use anyhow::{Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_cli::log::num;
use kaldi_fst::info::Counts;
use kaldi_fst::store::header::Header;
use kaldi_fst::{Arc, EPSILON, Fst, properties, store};
use kaldi_io::KaldiReader;

/// Prints out information about an FST.
#[derive(clap::Parser)]
pub struct Options {
    /// Arc filter: one of "any", "epsilon", "iepsilon", "oepsilon"; this only affects the counts of (co)accessible states,
    /// connected states, and (strongly) connected components
    #[arg(long = "arc_filter", default_value = "any")]
    arc_filter: String,
    /// Info format: one of "auto", "long", "short"
    #[arg(long = "info_type", default_value = "auto")]
    info_type: String,
    fst_in: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (kind, filter): (&str, fn(&Arc) -> bool) = match options.arc_filter.as_str() {
        "any" => ("", |_| true),
        "epsilon" => ("epsilon ", Arc::is_epsilon),
        "iepsilon" => ("input-epsilon ", |arc| arc.ilabel == EPSILON),
        "oepsilon" => ("output-epsilon ", |arc| arc.olabel == EPSILON),
        other => bail!("Bad --arc_filter value: {other}; expected any, epsilon, iepsilon or oepsilon"),
    };
    let long = match options.info_type.as_str() {
        "auto" | "long" => true,
        "short" => false,
        other => bail!("Bad info type: {other}; expected auto, long or short"),
    };
    let mut r = KaldiReader::open_raw(options.fst_in.as_deref().unwrap_or_default())?;
    r.set_binary(true);
    let header = Header::read(&mut r)?;
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut line = |name: &str, value: String| lines.push((name.to_owned(), value));
    line("fst type", header.fst_type.clone());
    line("arc type", header.arc_type.clone());
    for (name, symbols) in ["input symbol table", "output symbol table"].into_iter().zip(&header.symbols) {
        line(name, symbols.as_ref().map_or("none", |symbols| &symbols.title).to_owned());
    }
    if long {
        if store::semiring(&header.arc_type).is_none() {
            bail!("only FSTs with arcs of type standard or log can be described, found {}", header.arc_type);
        }
        let fst: Fst = store::read_after(&mut r, &header, kaldi_fst::Weight::read)?;
        r.finish()?;
        describe(&fst, &header, kind, filter, &mut line);
    }
    let text: String = lines.into_iter().map(|(name, value)| format!("{name:<50}{value}\n")).collect();
    StandardOutput::print(text)?;
    Ok(0)
}

fn describe(
    fst: &Fst,
    header: &Header,
    kind: &str,
    filter: fn(&Arc) -> bool,
    line: &mut impl FnMut(&str, String),
) {
    let counts = Counts::of(fst, filter);
    line("# of states", counts.states.to_string());
    line("# of arcs", counts.arcs.to_string());
    line("initial state", fst.start.map_or(-1, i64::from).to_string());
    line("# of final states", counts.final_states.to_string());
    line("# of input/output epsilons", counts.epsilons.to_string());
    line("# of input epsilons", counts.input_epsilons.to_string());
    line("# of output epsilons", counts.output_epsilons.to_string());
    line("input label multiplicity", num(counts.input_multiplicity));
    line("output label multiplicity", num(counts.output_multiplicity));
    line(&format!("# of {kind}accessible states"), counts.accessible.to_string());
    line(&format!("# of {kind}coaccessible states"), counts.coaccessible.to_string());
    line(&format!("# of {kind}connected states"), counts.connected.to_string());
    line(&format!("# of {kind}connected components"), counts.components.to_string());
    line(&format!("# of {kind}strongly conn components"), counts.strong_components.to_string());
    let properties: Vec<_> = properties::named(properties::compute(fst)).collect();
    let answer = |holds: bool| if holds { "y" } else { "n" }.to_owned();
    let property = |wanted: &str| properties.iter().any(|&(name, holds)| name == wanted && holds);
    line("input matcher", answer(property("input label sorted")));
    line("output matcher", answer(property("output label sorted")));
    line("input lookahead", answer(false));
    line("output lookahead", answer(header.fst_type == "olabel_lookahead"));
    line("expanded", answer(true));
    line("mutable", answer(header.fst_type == "vector"));
    line("error", answer(false));
    for (name, holds) in properties {
        line(name, answer(holds));
    }
}
