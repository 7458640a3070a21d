//! Features of a model as options of `compute-mfcc-feats`, which Kaldi's programs and scripts read.

use kaldi_feat::spectral::{Kind, SpectralOptions};

use crate::settings::FeatureSettings;

/// The file of these options in a model's folder.
pub const OPTIONS: &str = "mfcc.conf";

impl FeatureSettings {
    /// Takes the options of an extractor.
    ///
    /// # Errors
    /// A sentence about an option whose value these settings cannot have.
    pub fn of(options: &SpectralOptions) -> std::result::Result<FeatureSettings, String> {
        let SpectralOptions { frames, mel, energy, kind } = options;
        let Kind::Mfcc { num_ceps, cepstral_lifter } = *kind else {
            return Err(
                "expected the options of mel cepstra (MFCC), found those of other features".to_owned()
            );
        };
        let settings = FeatureSettings {
            rate: frames.sample_rate as u32,
            shift: frames.shift,
            length: frames.length,
            cepstra: num_ceps,
            bins: mel.bins,
            low: mel.low,
            high: mel.high,
            use_energy: energy.used,
            raw_energy: energy.raw,
            snip_edges: frames.snip_edges,
            dither: frames.dither,
            preemphasis: frames.preemphasis,
            cepstral_lifter,
        };
        settings.check()?;
        let usual = settings.spectral();
        let others = [
            ("window-type", frames.window == usual.frames.window),
            ("remove-dc-offset", frames.remove_dc_offset == usual.frames.remove_dc_offset),
            ("round-to-power-of-two", frames.round_to_power_of_two == usual.frames.round_to_power_of_two),
            ("htk-compat", energy.htk_compat == usual.energy.htk_compat),
            ("energy-floor", !energy.used || energy.floor == usual.energy.floor),
        ];
        match others.into_iter().find(|(_, is_usual)| !is_usual) {
            Some((name, _)) => {
                Err(format!("--{name} has another value than the default, which is not supported"))
            }
            None => Ok(settings),
        }
    }

    /// Lines of options of `compute-mfcc-feats` for these features.
    pub(crate) fn to_options(&self) -> String {
        let FeatureSettings { rate, shift, length, cepstra, bins, low, high, dither, .. } = self;
        let (energy, raw, snip) = (self.use_energy, self.raw_energy, self.snip_edges);
        let (preemphasis, lifter) = (self.preemphasis, self.cepstral_lifter);
        format!(
            "--sample-frequency={rate}\n--allow-downsample=true\n--allow-upsample=true\n--frame-shift={shift}\n--frame-length={length}\n\
             --num-ceps={cepstra}\n--num-mel-bins={bins}\n--low-freq={low}\n--high-freq={high}\n--use-energy={energy}\n\
             --raw-energy={raw}\n--snip-edges={snip}\n--dither={dither}\n--preemphasis-coefficient={preemphasis}\n\
             --cepstral-lifter={lifter}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_feat::spectral::WindowType;

    #[test]
    fn options_that_change_features_are_taken_or_refused() {
        let settings = FeatureSettings { bins: 40, high: -400.0, ..FeatureSettings::for_rate(8000) };
        let mut options = settings.spectral();
        options.frames.allow_downsample = true;
        options.energy.floor = 0.1;
        assert_eq!(FeatureSettings::of(&options), Ok(settings));
        options.energy.used = true;
        assert!(FeatureSettings::of(&options).unwrap_err().contains("energy-floor"));
        options.energy.floor = 0.0;
        options.frames.window = WindowType::Hamming;
        assert!(FeatureSettings::of(&options).unwrap_err().contains("--window-type"));
        options.frames.sample_rate = 100.0;
        assert!(FeatureSettings::of(&options).unwrap_err().contains("rate"));
        options.kind = Kind::Fbank { log: true, power: true };
        assert!(FeatureSettings::of(&options).unwrap_err().contains("MFCC"));
    }
}
