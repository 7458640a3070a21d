//! `gmm-boost-silence`: multiplies the weights of the Gaussians of some phones.

use std::collections::BTreeSet;

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_tree::phone_sets::parse_phones;
use nnet3::{gaussians, messages};

/// Modifies a GMM-based model to boost (by a certain factor) all probabilities of the specified phones. These can be
/// all silence phones, or just the ones used for optional silence.
///
/// Weights are not normalised afterwards.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-boost-silence --boost=1.5 1:2:3 1.mdl 1_boostsil.mdl")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Factor by which to boost silence probs
    #[arg(long, default_value_t = 1.5)]
    boost: f32,
    silence_phones_list: String,
    model_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let list = &options.silence_phones_list;
    let phones = if list.is_empty() { Vec::new() } else { parse_phones(list)? };
    let (transitions, mut model) = gaussians::read_model(&options.model_in)?;
    let phones_by_pdf = transitions.phones_by_pdf();
    let mut pdfs = BTreeSet::new();
    if phones.is_empty() {
        messages::warn("gmm-boost-silence: no silence phones specified, doing nothing.");
    } else {
        let listed = |phone: &i32| phones.binary_search(phone).is_ok();
        let of_phones = (0..).zip(&phones_by_pdf).filter(|(_, of_pdf)| of_pdf.iter().any(listed));
        pdfs.extend(of_phones.map(|(pdf, _)| pdf));
        if pdfs.iter().any(|&pdf: &i32| !phones_by_pdf[pdf as usize].iter().all(listed)) {
            messages::warn(
                "The pdfs for the silence phones may be shared by other phones (note: this probably does not matter.)",
            );
        }
    }
    model.boost(&pdfs, options.boost)?;
    messages::log(&format!(
        "Boosted weights for {} pdfs, by factor of {}",
        pdfs.len(),
        num(options.boost.into())
    ));
    gaussians::write_model(&options.model_out, options.mode.binary, &transitions, &model)?;
    messages::log(&format!("Wrote model to {}", options.model_out));
    Ok(0)
}
