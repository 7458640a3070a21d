//! Pitch of sound, and features made from it.

use kaldi_feat::pitch::{PitchOptions, PitchProcessOptions};

use super::{Error, Result};

kaldi_io::options! {
    /// Options of the extraction of pitch, as on command lines and in pitch.conf.
    #[derive(Clone, Debug)]
    pub struct PitchArgs {
        /// Waveform data sample frequency (must match the waveform file, if specified there)
        pub sample_frequency: f32 = 16000.0,
        /// Frame length in milliseconds
        pub frame_length: f32 = 25.0,
        /// Frame shift in milliseconds
        pub frame_shift: f32 = 10.0,
        /// Coefficient for use in signal preemphasis
        pub preemphasis_coefficient: f32 = 0.0,
        /// Minimum F0 to search for (Hz)
        pub min_f0: f32 = 50.0,
        /// Maximum F0 to search for (Hz)
        pub max_f0: f32 = 400.0,
        /// Minimum F0, applied in soft way; must not exceed min-f0
        pub soft_min_f0: f32 = 10.0,
        /// Cost factor for F0 change
        pub penalty_factor: f32 = 0.1,
        /// Cutoff frequency for the lowpass filter (Hz)
        pub lowpass_cutoff: f32 = 1000.0,
        /// Frequency that we down-sample the signal to. Must be at least twice lowpass-cutoff
        pub resample_frequency: f32 = 4000.0,
        /// Smallest relative change in pitch that our algorithm measures
        pub delta_pitch: f32 = 0.005,
        /// Increasing this factor reduces NCCF for quiet frames
        pub nccf_ballast: f32 = 7000.0,
        /// Integer that determines filter width of lowpass filter; more gives a sharper filter
        pub lowpass_filter_width: i32 = 1,
        /// Integer that determines filter width when upsampling the NCCF
        pub upsample_filter_width: i32 = 5,
        /// Maximum number of frames of latency that we allow pitch tracking to introduce into the feature processing (affects
        /// output only if --frames-per-chunk > 0 and --simulate-first-pass-online=true)
        pub max_frames_latency: i32 = 0,
        /// Only relevant for offline pitch extraction; you can set it to a small nonzero value, such as 10, for better feature
        /// compatibility with online decoding (affects energy normalization in the algorithm)
        pub frames_per_chunk: i32 = 0,
        /// If true, the features are those that an online decoder would see in the first pass of decoding, not the final
        /// features after the traceback. Needs --frames-per-chunk.
        pub simulate_first_pass_online: bool = false,
        /// Frame at which the search is done again with the energy of all samples so far; affects only online pitch extraction.
        /// A non-critical parameter
        pub recompute_frame: i32 = 500,
        /// If true, the NCCF ballast depends on the samples up to each frame only (useful mainly for debugging)
        pub nccf_ballast_online: bool = false,
        /// If true, only frames that completely fit in the file are output, and their number depends on the frame-length. If
        /// false, their number depends only on the frame-shift.
        pub snip_edges: bool = true,
    }
}

/// Converts a number that the reference's options allow to be negative.
fn count(option: &str, number: i32) -> Result<usize> {
    match usize::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => refuse!("--{option}={number}: expected a number that is not negative"),
    }
}

impl PitchArgs {
    /// Returns the options as the library takes them.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn options(&self) -> Result<PitchOptions> {
        Ok(PitchOptions {
            sample_rate: self.sample_frequency,
            frame_length: self.frame_length,
            frame_shift: self.frame_shift,
            preemphasis: self.preemphasis_coefficient,
            min_f0: self.min_f0,
            max_f0: self.max_f0,
            soft_min_f0: self.soft_min_f0,
            penalty_factor: self.penalty_factor,
            lowpass_cutoff: self.lowpass_cutoff,
            resample_rate: self.resample_frequency,
            delta_pitch: self.delta_pitch,
            nccf_ballast: self.nccf_ballast,
            lowpass_filter_width: count("lowpass-filter-width", self.lowpass_filter_width)?,
            upsample_filter_width: count("upsample-filter-width", self.upsample_filter_width)?,
            max_frames_latency: count("max-frames-latency", self.max_frames_latency)?,
            frames_per_chunk: count("frames-per-chunk", self.frames_per_chunk)?,
            simulate_first_pass_online: self.simulate_first_pass_online,
            recompute_frame: count("recompute-frame", self.recompute_frame)?,
            nccf_ballast_online: self.nccf_ballast_online,
            snip_edges: self.snip_edges,
        })
    }
}

kaldi_io::options! {
    /// Options of the features that are computed from pitch.
    #[derive(Clone, Debug)]
    pub struct PitchProcessArgs {
        /// Scaling factor for the final normalized log-pitch value
        pub pitch_scale: f32 = 2.0,
        /// Scaling factor for final POV (probability of voicing) feature
        pub pov_scale: f32 = 2.0,
        /// This can be used to add an offset to the POV feature. Intended for use in online decoding as a substitute for CMN.
        pub pov_offset: f32 = 0.0,
        /// Term to scale the final delta log-pitch feature
        pub delta_pitch_scale: f32 = 10.0,
        /// Standard deviation for noise we add to the delta log-pitch (before scaling); should be about the same as delta-pitch
        /// option to pitch creation. The purpose is to get rid of peaks in the delta-pitch caused by discretization of pitch
        /// values.
        pub delta_pitch_noise_stddev: f32 = 0.005,
        /// Left-context (in frames) for moving window normalization
        pub normalization_left_context: i32 = 75,
        /// Right-context (in frames) for moving window normalization
        pub normalization_right_context: i32 = 75,
        /// Number of frames on each side of central frame, to use for delta window.
        pub delta_window: i32 = 2,
        /// Number of frames by which the pitch information is delayed.
        pub delay: i32 = 0,
        /// If true, the warped NCCF is added to output features
        pub add_pov_feature: bool = true,
        /// If true, the log-pitch with POV-weighted mean subtraction over a 1.5 second window is added to output features
        pub add_normalized_log_pitch: bool = true,
        /// If true, time derivative of log-pitch is added to output features
        pub add_delta_pitch: bool = true,
        /// If true, log(pitch) is added to output features
        pub add_raw_log_pitch: bool = false,
    }
}

impl PitchProcessArgs {
    /// # Errors
    /// Numbers out of range.
    pub fn options(&self) -> Result<PitchProcessOptions> {
        Ok(PitchProcessOptions {
            pitch_scale: self.pitch_scale,
            pov_scale: self.pov_scale,
            pov_offset: self.pov_offset,
            delta_pitch_scale: self.delta_pitch_scale,
            delta_pitch_noise_stddev: self.delta_pitch_noise_stddev,
            normalization_left_context: count("normalization-left-context", self.normalization_left_context)?,
            normalization_right_context: count(
                "normalization-right-context",
                self.normalization_right_context,
            )?,
            delta_window: count("delta-window", self.delta_window)?,
            delay: count("delay", self.delay)?,
            add_pov_feature: self.add_pov_feature,
            add_normalized_log_pitch: self.add_normalized_log_pitch,
            add_delta_pitch: self.add_delta_pitch,
            add_raw_log_pitch: self.add_raw_log_pitch,
        })
    }
}

kaldi_io::options! {
    /// Both, as in the file of --online-pitch-config.
    #[derive(Clone, Debug)]
    pub struct OnlinePitchArgs {
        pub pitch: PitchArgs,
        pub process: PitchProcessArgs,
    }
}

/// Reads the options of pitch from a file; without a name, returns the usual ones. Errors begin with `name`.
///
/// # Errors
/// The file cannot be read, or has a line that is no option.
pub fn read(name: &str, config: &str) -> Result<(PitchOptions, PitchProcessOptions)> {
    let args: OnlinePitchArgs = super::read(name, config)?;
    let process = args.process.options().map_err(Error::of(config))?;
    Ok((args.pitch.options().map_err(Error::of(config))?, process))
}
