//! Prints what a recording gives: rate, channels, samples, the first sample that is not silent, and the warnings.
//! `cargo run -p kaldi-sound --example sound -- [--track=N] RECORDING...`

use kaldi_sound::{Channels, SoundOptions, SoundStream};

/// Samples below this are silence.
const QUIET: f32 = 500.0;

fn describe(name: &str, options: &SoundOptions) -> Result<String, kaldi_sound::Error> {
    let mut sound = SoundStream::open_with(name, options)?;
    let signals = sound.signals(Channels::First)?;
    let (mut count, mut first, mut energy) = (0, None, 0.0);
    loop {
        let samples = sound.read(4000, &signals)?.remove(0);
        if samples.is_empty() {
            break;
        }
        first = first.or_else(|| samples.iter().position(|x| x.abs() > QUIET).map(|at| count + at));
        energy += samples.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        count += samples.len();
    }
    let (rate, channels) = (sound.sample_rate(), sound.channels());
    let first = first.map_or("-".to_owned(), |first| format!("{:.4}", first as f64 / f64::from(rate)));
    let loudness = (energy / count.max(1) as f64).sqrt();
    let seconds = count as f64 / f64::from(rate);
    let mut text =
        format!("{rate} Hz {channels} ch {count} samples {seconds:.4} s first {first} rms {loudness:.0}");
    for warning in sound.warnings() {
        text += &format!("\n    {warning}");
    }
    sound.close()?;
    Ok(text)
}

fn main() {
    let mut options = SoundOptions::default();
    for name in std::env::args().skip(1) {
        if let Some(track) = name.strip_prefix("--track=") {
            options.track = track.parse().ok();
            continue;
        }
        let mut line = String::new();
        match describe(&name, &options) {
            Ok(text) => line += &text,
            Err(error) => {
                let causes =
                    std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
                line += "ERROR";
                causes.for_each(|cause| line += &format!(": {cause}"));
            }
        }
        println!("{name}: {line}");
    }
}
