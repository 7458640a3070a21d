//! `ali-to-phones`: converts alignments of transition-ids to sequences of phones.

use anyhow::bail;
use kaldi_hmm::TransitionModel;
use kaldi_hmm::alignment::PhoneSegment;
use kaldi_io::holder::{I32PairVectorHolder, I32VectorHolder};
use kaldi_io::{KaldiWriter, read_object};
use nnet3::{messages, tables};
/// Convert model-level alignments to phone-sequences (in integer, not text, form).
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n ali-to-phones 1.mdl ark:1.ali ark:-\nor:\n ali-to-phones --ctm-output 1.mdl ark:1.ali 1.ctm\n\
        See also: show-alignments lattice-align-phones, compare-int-vector"
)]
pub struct Options {
    /// If true, output the alignments in ctm format (the confidences will be set to 1)
    #[arg(long, default_value_t = false)]
    ctm_output: bool,
    /// Frame shift, in seconds, used to control the times of the ctm output
    #[arg(long, default_value_t = 0.01)]
    frame_shift: f32,
    /// If true, write out the frame-level phone alignment (else phone sequence)
    #[arg(long, default_value_t = false)]
    per_frame: bool,
    /// If true, write the number of frames for each phone (different format)
    #[arg(long, default_value_t = false)]
    write_lengths: bool,
    model: String,
    alignments_rspecifier: String,
    #[arg(value_name = "(<phone-transcript-wspecifier>|<ctm-wxfilename>)")]
    output: String,
}

/// The phones of an alignment.
fn split(model: &TransitionModel, alignment: &[i32]) -> kaldi_hmm::Result<Vec<PhoneSegment>> {
    model.split_to_phones(&model.transition_ids(alignment)?)
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    if options.per_frame && options.write_lengths {
        bail!("--per-frame=true and --write-lengths=true exclude each other");
    }
    let model: TransitionModel = read_object(&options.model)?;
    let (from, to) = (&options.alignments_rspecifier, &options.output);
    if options.ctm_output {
        return write_ctm(&options, &model);
    }
    let done = if options.write_lengths {
        let output = tables::map::<I32VectorHolder, I32PairVectorHolder>(from, to, |_, alignment| {
            let phones = split(&model, &alignment)?;
            Ok(Ok(phones.iter().map(|segment| (segment.phone, segment.frames.len() as i32)).collect()))
        })?;
        (output.done, output.finish_any()?)
    } else {
        let output = tables::map::<I32VectorHolder, I32VectorHolder>(from, to, |_, alignment| {
            let times = |segment: &PhoneSegment| if options.per_frame { segment.frames.len() } else { 1 };
            let phones = split(&model, &alignment)?;
            Ok(Ok(phones.iter().flat_map(|segment| vec![segment.phone; times(segment)]).collect()))
        })?;
        (output.done, output.finish_any()?)
    };
    messages::log(&format!("Done {} utterances.", done.0));
    Ok(done.1)
}

/// A line for each phone: utterance, channel 1, start and duration in seconds, phone.
fn write_ctm(options: &Options, model: &TransitionModel) -> anyhow::Result<u8> {
    // (As in Kaldi, the float is compared with a double: 0.01 is below 0.01.)
    let digits = if f64::from(options.frame_shift) >= 0.01 { 2 } else { 3 };
    let mut writer = KaldiWriter::create(&options.output, false)?;
    let mut done = 0;
    tables::Input::<I32VectorHolder>::open(&options.alignments_rspecifier)?.for_each(|key, alignment| {
        let mut start = 0.0_f32;
        for segment in split(model, &alignment)? {
            let duration = options.frame_shift * segment.frames.len() as f32;
            writer.write_str(&format!("{key} 1 {start:.digits$} {duration:.digits$} {}\n", segment.phone))?;
            start += duration;
        }
        done += 1;
        Ok(())
    })?;
    writer.finish()?;
    messages::log(&format!("Done {done} utterances."));
    Ok(0)
}
