//! The end of a work that a signal has interrupted: the texts so far, and words about what is missing.

use anyhow::Result;
use kaldi_io::interruption;
use nnet3::messages;

use super::Sound;
use super::outputs::{Writer, incomplete};

/// A recording that was recognised up to a time.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its text so far in each form. Empty without words.
    pub texts: Vec<String>,
    /// True if the text was printed while it came.
    pub is_printed: bool,
    /// The seconds of sound that were recognised.
    pub seconds: f64,
    /// The seconds of the recording, if they are known.
    pub whole: Option<f64>,
}

/// Writes a part of a text: to standard output and to the file of all recordings as if it were whole, otherwise to a file with another
/// name. Warns.
pub fn write(writer: &mut Writer, sound: &Sound, part: &Part) -> Result<()> {
    let has_words = part.texts.iter().any(|text| !text.is_empty());
    let to: Vec<String> = sound.to.iter().map(|file| incomplete(file)).collect();
    if has_words {
        writer.write(&to, &part.texts)?;
    }
    let kept = match (has_words || part.is_printed, to.is_empty()) {
        (false, _) => "there were no words up to there".to_owned(),
        (true, true) => "its text up to there was written".to_owned(),
        (true, false) => {
            format!(
                "its text up to there is in {}, and {} was not written",
                to.join(", "),
                sound.to.join(", ")
            )
        }
    };
    let lattices = match &sound.lattices {
        Some((file, _)) => format!("; {file} was not written"),
        None => String::new(),
    };
    let of = part.whole.map_or(String::new(), |whole| format!(" of {whole:.1} s"));
    let signal = interruption::received().map_or("a signal", interruption::name);
    messages::warn(&format!(
        "{}: {signal} stopped the recognition at {:.1} s{of}: {kept}{lattices}",
        sound.path, part.seconds
    ));
    Ok(())
}

/// Ends the files for all recordings, says how many texts are whole, and ends the process by the signal.
pub fn end(writer: Writer, signal: i32, whole: usize, failed: usize, all: usize) -> Result<u8> {
    if whole + failed == all {
        writer.finish()?;
    } else {
        for file in writer.finish_incomplete()? {
            messages::warn(&format!(
                "{file} was not written: it would lack texts; those so far are in {}",
                incomplete(&file)
            ));
        }
    }
    let faults = if failed > 0 { format!("; {failed} could not be transcribed") } else { String::new() };
    messages::warn(&format!(
        "ended by {}: {whole} of {all} recordings have their whole text{faults}",
        interruption::name(signal)
    ));
    Ok(kaldi_cli::end_by(signal))
}
