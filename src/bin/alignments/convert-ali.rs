//! `convert-ali`: converts alignments from one model to another.

use anyhow::bail;
use kaldi_hmm::convert::Conversion;
use kaldi_hmm::{ContextDependency, Error, TransitionModel};
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::read_object;
use kaldi_tree::phone_sets::PhoneMap;
use nnet3::{messages, tables, trees};
use nnet3_core::c_rand::CRand;
/// Convert alignments from one decision-tree/model to another.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n convert-ali old/final.mdl new/0.mdl new/tree ark:old/ali.1 ark:new/ali.1")]
pub struct Options {
    /// File name containing old->new phone mapping (each line is: old-integer-id new-integer-id)
    #[arg(long, default_value = "")]
    phone_map: String,
    /// True if you want the converted alignments to be 'reordered' versus the way they appear in the HmmTopology object
    #[arg(long, default_value_t = true)]
    reorder: bool,
    /// Only relevant when frame-subsampling-factor != 1.  If true, repeat frames of alignment by 'frame-subsampling-factor'
    /// after alignment conversion, to keep the alignment the same length as the input alignment.
    #[arg(long, default_value_t = false)]
    repeat_frames: bool,
    /// Can be used in converting alignments to reduced frame rates.
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: i32,
    old_model: String,
    new_model: String,
    new_tree: String,
    old_alignments_rspecifier: String,
    new_alignments_wspecifier: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let subsampling_factor = match usize::try_from(options.frame_subsampling_factor) {
        Ok(factor) if factor > 0 => factor,
        _ => bail!("--frame-subsampling-factor={} must be positive", options.frame_subsampling_factor),
    };
    let phone_map = match options.phone_map.as_str() {
        "" => None,
        file => Some(trees::read_text(file, PhoneMap::read)?),
    };
    let map = phone_map.map(|map| move |phone| map.get(phone));
    let from: TransitionModel = read_object(&options.old_model)?;
    let to: TransitionModel = read_object(&options.new_model)?;
    if from.topology() != to.topology() {
        messages::warn("Toplogies of models are not equal: conversion may not be correct or may fail.");
    }
    let tree: ContextDependency = read_object(&options.new_tree)?;
    let conversion = Conversion {
        from: &from,
        to: &to,
        tree: &tree,
        subsampling_factor,
        repeat_frames: options.repeat_frames,
        reorder: options.reorder,
        map_phone: map.as_ref().map(|map| map as &dyn Fn(i32) -> Option<i32>),
    };
    let mut generator = CRand::default();
    let (old, new) = (&options.old_alignments_rspecifier, &options.new_alignments_wspecifier);
    let output = tables::map::<I32VectorHolder, I32VectorHolder>(old, new, |key, alignment| {
        let ids = from.transition_ids(&alignment)?;
        match conversion.convert(&ids, &mut || generator.next()) {
            Ok(ids) => Ok(Ok(ids.into_iter().map(|id| id.get() as i32).collect())),
            Err(error @ (Error::Alignment(_) | Error::Frame { .. })) => tables::skip_as(format!(
                "Could not convert alignment for key {key} (possibly truncated alignment?): {}",
                kaldi_io::error::chain(&error)
            )),
            Err(other) => {
                let files = format!("{}, {} and {}", options.old_model, options.new_model, options.new_tree);
                Err(anyhow::Error::from(other).context(files))
            }
        }
    })?;
    messages::log(&format!(
        "Succeeded converting alignments for {} files, failed for {}",
        output.done, output.failed
    ));
    output.finish()
}
