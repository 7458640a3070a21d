//! From samples to the inputs of a network (`OnlineNnet2FeaturePipeline` of
//! `online2/online-nnet2-feature-pipeline.cc`).
//!
//! Base features are made as soon as their samples arrive. I-vectors read them unchanged. Frames for the network
//! (`network.rs`) are base features followed by pitch features. They are normalised if the network requires that.

use std::sync::Arc;

use kaldi_feat::online_cmvn::OnlineCmvnState;
use kaldi_feat::spectral::{Extractor, FeatureStream};

use crate::error::{Error, Result};
use crate::ivector::{AdaptationState, Diagnostics, IvectorModel, IvectorStream};
use crate::network::{NetworkFeatures, NetworkFrames};

/// Frames that are computed at a time if old frames are dropped. It is less than the smallest number of kept frames.
const FRAMES_AT_ONCE: usize = 100;

/// All that does not change from utterance to utterance.
#[derive(Debug)]
pub struct PipelineModel {
    features: NetworkFeatures,
    ivectors: Option<Arc<IvectorModel>>,
}

/// The state of a speaker; empty for a new one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Speaker {
    /// Initial state of the i-vectors.
    pub adaptation: Option<AdaptationState>,
    /// Initial state of the normalisation of the network's features.
    pub cmvn: Option<OnlineCmvnState>,
}

impl PipelineModel {
    /// Features of sound, and i-vectors of the base features. Fails if dimensions do not fit.
    pub fn new(features: impl Into<NetworkFeatures>, ivectors: Option<Arc<IvectorModel>>) -> Result<Self> {
        let features = features.into();
        features.check()?;
        let dim = features.base.dim();
        if let Some(model) = ivectors.as_ref().filter(|model| model.feature_dim() != dim) {
            return Err(Error::data(format!(
                "the features of sound have dimension {dim}, those that i-vectors are estimated of {}",
                model.feature_dim()
            )));
        }
        Ok(PipelineModel { features, ivectors })
    }

    /// The dimension of a network's input, without i-vectors.
    pub fn dim(&self) -> usize {
        self.features.dim()
    }
    /// The dimension of i-vectors, if there are any.
    pub fn ivector_dim(&self) -> Option<usize> {
        self.ivectors.as_ref().map(|model| model.ivector_dim())
    }
    /// In seconds.
    pub fn frame_shift(&self) -> f32 {
        self.features.base.frames.shift / 1000.0
    }
    /// The middle of the first frame, in seconds.
    pub fn first_middle(&self) -> f32 {
        let frames = &self.features.base.frames;
        0.5 * if frames.snip_edges { frames.length } else { frames.shift } / 1000.0
    }
    /// The rate (in Hz) of sound that needs no resampling.
    pub fn sample_rate(&self) -> f32 {
        self.features.base.frames.sample_rate
    }

    /// True if sound at this rate (in Hz) or above is taken: that of the features, unless their options allow a lower one.
    pub fn takes_rate(&self, rate: f32) -> bool {
        rate >= self.sample_rate() || self.features.base.frames.allow_upsample
    }
}

/// The features of one utterance while its samples arrive.
pub struct OnlineFeaturePipeline {
    model: Arc<PipelineModel>,
    base: FeatureStream,
    /// Frames of `base` that have gone on.
    passed: usize,
    /// Frames for the network, if they differ from the frames of `base`.
    network: Option<NetworkFrames>,
    ivectors: Option<IvectorStream>,
}

impl OnlineFeaturePipeline {
    /// Begins an utterance.
    pub fn new(model: Arc<PipelineModel>, speaker: Speaker) -> Result<Self> {
        let base = FeatureStream::new(Extractor::new(model.features.base.clone())?)?;
        let NetworkFeatures { pitch, cmvn, .. } = &model.features;
        let network = match (pitch, cmvn) {
            (None, None) => None,
            _ => Some(NetworkFrames::new(&model.features, speaker.cmvn)?),
        };
        let ivectors = model.ivectors.as_ref().map(|ivectors| {
            let state = speaker.adaptation.unwrap_or_else(|| ivectors.new_speaker());
            IvectorStream::new(ivectors.clone(), state)
        });
        Ok(OnlineFeaturePipeline { model, base, passed: 0, network, ivectors: ivectors.transpose()? })
    }

    pub fn model(&self) -> &Arc<PipelineModel> {
        &self.model
    }

    /// Takes the next samples, at this rate (in Hz), which must stay the same. They are as in wave files, not between −1
    /// and 1.
    pub fn accept(&mut self, rate: f32, samples: &[f32]) -> Result<()> {
        // If few frames are kept, samples are passed on in small portions, so that no frame is dropped before it is
        // used.
        let most = match self.model.features.base.frames.max_feature_vectors {
            None => samples.len(),
            Some(_) => (rate * self.model.frame_shift()) as usize * FRAMES_AT_ONCE,
        };
        for samples in samples.chunks(most.max(1)) {
            self.base.accept(rate, samples)?;
            if let Some(network) = &mut self.network {
                network.accept(rate, samples)?;
            }
            self.pass()?;
        }
        Ok(())
    }

    /// Announces the end of the samples. The last frames become ready.
    pub fn finish(&mut self) -> Result<()> {
        self.base.finish();
        if let Some(network) = &mut self.network {
            network.finish();
        }
        self.pass()?;
        if let Some(ivectors) = &mut self.ivectors {
            ivectors.finish();
        }
        Ok(())
    }

    pub fn is_finished(&self) -> bool {
        self.base.is_finished()
    }

    /// Passes new frames to their readers.
    fn pass(&mut self) -> Result<()> {
        while self.passed < self.base.ready() {
            let Some(frame) = self.base.frame(self.passed) else {
                return Err(Error::data(format!("frame {} was dropped before it was used", self.passed)));
            };
            if let Some(ivectors) = &mut self.ivectors {
                ivectors.accept(frame)?;
            }
            if let Some(network) = &mut self.network {
                network.push(frame)?;
            }
            self.passed += 1;
        }
        Ok(())
    }

    /// Frames for the network so far.
    pub fn frames_ready(&self) -> usize {
        self.network.as_ref().map_or(self.passed, NetworkFrames::ready)
    }

    /// Frames so far for which there are i-vectors too.
    pub fn ready(&self) -> usize {
        let frames = self.frames_ready();
        self.ivectors.as_ref().map_or(frames, |ivectors| ivectors.ready().min(frames))
    }

    /// Returns frame `t` for the network, without i-vector, or `None` if it is not ready yet, or has been dropped.
    /// Pitch has the value of the first request for the frame.
    pub fn frame(&mut self, t: usize) -> Result<Option<&[f32]>> {
        match &mut self.network {
            None => Ok(self.base.frame(t)),
            Some(network) => network.frame(t),
        }
    }

    pub fn has_ivectors(&self) -> bool {
        self.ivectors.is_some()
    }

    /// The i-vector for frame `t`, or for the last frame that has one. `None` if there are no i-vectors at all, or not yet.
    pub fn ivector(&mut self, t: usize) -> Result<Option<Vec<f32>>> {
        let Some(ivectors) = &mut self.ivectors else { return Ok(None) };
        let Some(last) = ivectors.ready().checked_sub(1) else { return Ok(None) };
        ivectors.ivector(t.min(last)).map(Some)
    }

    /// Adds to the weights of frames for i-vectors (see [`crate::silence`]); no effect without i-vectors.
    pub fn change_weights(&mut self, changes: impl IntoIterator<Item = (usize, f32)>) -> Result<()> {
        self.ivectors.as_mut().map_or(Ok(()), |ivectors| ivectors.change_weights(changes))
    }

    /// Returns the speaker's state after the frames so far, for the next utterance.
    pub fn speaker(&mut self) -> Result<Speaker> {
        Ok(Speaker {
            adaptation: self.ivectors.as_ref().map(IvectorStream::adaptation_state),
            cmvn: self.network.as_mut().map_or(Ok(None), NetworkFrames::state)?,
        })
    }

    /// Diagnostics of the estimation of i-vectors, if there are any.
    pub fn diagnostics(&self) -> Option<Diagnostics> {
        self.ivectors.as_ref().map(IvectorStream::diagnostics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ivector::{IvectorOptions, Parts};
    use kaldi_feat::cmvn::CmvnStats;
    use kaldi_feat::online_cmvn::OnlineCmvn;
    use kaldi_feat::online_cmvn::OnlineCmvnOptions;
    use kaldi_feat::pitch::{PitchOptions, PitchProcessOptions};
    use kaldi_feat::pitch::{PitchTracker, extract_and_process};
    use kaldi_feat::spectral::SpectralOptions;
    use kaldi_feat::spectral::{EnergyOptions, FrameOptions, Kind, MelOptions};
    use kaldi_io::DenseMatrix;

    /// Three mel energies a frame.
    fn options() -> SpectralOptions {
        SpectralOptions {
            frames: FrameOptions { dither: 0.0, ..FrameOptions::default() },
            mel: MelOptions { bins: 3, ..MelOptions::default() },
            energy: EnergyOptions { used: false, floor: 0.0, raw: true, htk_compat: false },
            kind: Kind::Fbank { log: true, power: true },
        }
    }

    fn signal(samples: usize, seed: u64) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..samples).map(|i| 1000.0 * (i as f32 * 0.05).sin() + random.f32() * 300.0).collect()
    }

    fn global(dim: usize) -> CmvnStats {
        CmvnStats { count: 10.0, sums: vec![100.0; dim], squares: Some(vec![1100.0; dim]) }
    }

    fn ivectors() -> Option<Arc<IvectorModel>> {
        let parts = Parts::new(IvectorOptions { most_recent: false, period: 4, ..IvectorOptions::default() });
        Some(parts.model().unwrap())
    }

    fn features(base: SpectralOptions, cmvn: bool) -> NetworkFeatures {
        let cmvn = cmvn.then(|| (OnlineCmvnOptions::default(), global(base.dim())));
        NetworkFeatures { cmvn, ..base.into() }
    }

    fn model(cmvn: bool, ivectors: Option<Arc<IvectorModel>>) -> Arc<PipelineModel> {
        Arc::new(PipelineModel::new(features(options(), cmvn), ivectors).unwrap())
    }

    /// Frames of the whole sound.
    fn whole(signal: &[f32]) -> DenseMatrix<f32> {
        Extractor::new(options()).unwrap().features(signal, 16000.0, 1.0).unwrap()
    }

    /// Two utterances of one speaker, in pieces of any size: the features, normalised as whole utterances are, and the
    /// i-vectors of whole features.
    #[test]
    fn pieces_give_what_whole_utterances_do() {
        let utterances = [signal(9000, 1), signal(5000, 2)];
        let ivectors = ivectors().unwrap();
        for piece in [100, 1777, 100_000] {
            let model = model(true, Some(ivectors.clone()));
            let mut speaker = Speaker::default();
            let mut cmvn = OnlineCmvn::new(OnlineCmvnOptions::default(), global(3)).unwrap();
            let mut state = ivectors.new_speaker();
            for signal in &utterances {
                let features = whole(signal);
                let normalized = cmvn.normalize(&features).unwrap();
                let mut expected = IvectorStream::new(ivectors.clone(), state).unwrap();
                (0..features.rows).for_each(|t| expected.accept(features.row(t)).unwrap());
                expected.finish();

                let mut pipeline = OnlineFeaturePipeline::new(model.clone(), speaker).unwrap();
                assert_eq!(pipeline.ivector(0).unwrap(), None);
                for samples in signal.chunks(piece) {
                    pipeline.accept(16000.0, samples).unwrap();
                    // The right context of splicing is one frame.
                    assert_eq!(pipeline.ready(), pipeline.frames_ready().saturating_sub(1));
                }
                pipeline.finish().unwrap();
                assert!(pipeline.is_finished() && pipeline.has_ivectors());
                assert_eq!((pipeline.ready(), pipeline.frames_ready()), (features.rows, features.rows));
                for t in 0..features.rows {
                    assert_eq!(pipeline.frame(t).unwrap().unwrap(), normalized.row(t));
                    assert_eq!(pipeline.ivector(t).unwrap(), Some(expected.ivector(t).unwrap()));
                }
                assert!(pipeline.frame(features.rows).unwrap().is_none());
                // After the last frame, its i-vector.
                let last = pipeline.ivector(features.rows - 1).unwrap();
                assert_eq!(pipeline.ivector(9999).unwrap(), last);
                assert_eq!(pipeline.diagnostics().unwrap(), expected.diagnostics());
                (speaker, state) = (pipeline.speaker().unwrap(), expected.adaptation_state());
                assert_eq!(speaker.adaptation.as_ref(), Some(&state));
                assert!(pipeline.accept(16000.0, &[1.0]).is_err());
            }
            assert_eq!(speaker.cmvn.unwrap().speaker.unwrap().count, (54 + 29) as f64);
        }
    }

    #[test]
    fn without_ivectors_and_with_weights() {
        let samples = signal(4000, 3);
        let mut pipeline = OnlineFeaturePipeline::new(model(false, None), Speaker::default()).unwrap();
        pipeline.change_weights([(0, 1.0)]).unwrap();
        pipeline.accept(16000.0, &samples).unwrap();
        pipeline.finish().unwrap();
        assert_eq!((pipeline.ivector(3).unwrap(), pipeline.has_ivectors()), (None, false));
        assert_eq!((pipeline.speaker().unwrap(), pipeline.ready()), (Speaker::default(), 23));
        assert_eq!((pipeline.model().dim(), pipeline.model().ivector_dim()), (3, None));
        assert_eq!((pipeline.model().frame_shift(), pipeline.model().sample_rate()), (0.01, 16000.0));
        let features = whole(&samples);
        assert!((0..23).all(|t| pipeline.frame(t).unwrap().unwrap() == features.row(t)));
        // A frame that does not count is as if it were not there.
        let mut pipeline = OnlineFeaturePipeline::new(model(false, ivectors()), Speaker::default()).unwrap();
        pipeline.change_weights([]).unwrap();
        pipeline.accept(16000.0, &samples).unwrap();
        assert!(pipeline.ivector(8).unwrap().unwrap().iter().all(|&x| x == 0.0));
        pipeline.change_weights((9..20).map(|t| (t, 1.0))).unwrap();
        assert!(pipeline.ivector(12).unwrap().unwrap().iter().any(|&x| x != 0.0));
    }

    /// If a long sound arrives at once, only its last frames are kept, but all are used.
    #[test]
    fn few_frames_are_kept() {
        let samples = signal(160_000, 4);
        let mut options = options();
        options.frames.max_feature_vectors = Some(201);
        let ivectors = ivectors();
        let model = Arc::new(PipelineModel::new(features(options, true), ivectors.clone()).unwrap());
        let mut pipeline = OnlineFeaturePipeline::new(model, Speaker::default()).unwrap();
        pipeline.accept(16000.0, &samples).unwrap();
        pipeline.finish().unwrap();
        assert_eq!(pipeline.ready(), 998);
        assert!(pipeline.frame(500).unwrap().is_none() && pipeline.frame(998 - 201).unwrap().is_some());
        let mut all = OnlineFeaturePipeline::new(self::model(true, ivectors), Speaker::default()).unwrap();
        all.accept(16000.0, &samples).unwrap();
        all.finish().unwrap();
        assert_eq!(all.ivector(997).unwrap(), pipeline.ivector(997).unwrap());
        assert_eq!(all.frame(990).unwrap(), pipeline.frame(990).unwrap());
    }

    fn pitch_options() -> (PitchOptions, PitchProcessOptions) {
        let process =
            PitchProcessOptions { normalization_right_context: 10, ..PitchProcessOptions::default() };
        // Without ballast the NCCF does not depend on the energy of the earlier signal.
        (PitchOptions { max_frames_latency: 5, nccf_ballast: 0.0, ..PitchOptions::default() }, process)
    }

    /// Frames read at the end have the pitch of a whole recording, behind the base features. Normalisation is over all
    /// columns; i-vectors use only the base features.
    #[test]
    fn pitch_of_pieces_is_that_of_the_whole() {
        let samples = signal(9000, 6);
        let (pitch, process) = pitch_options();
        let base = whole(&samples);
        let columns = |noise: bool| {
            let options = PitchProcessOptions { delta_pitch_noise_stddev: 0.0, ..process.clone() };
            let process = if noise { process.clone() } else { options };
            let network = NetworkFeatures { pitch: Some((pitch.clone(), process)), ..options_and_cmvn(None) };
            Arc::new(PipelineModel::new(network, None).unwrap())
        };
        let quiet = PitchProcessOptions { delta_pitch_noise_stddev: 0.0, ..process.clone() };
        let mut tracker = PitchTracker::new(&pitch).unwrap();
        let expected = extract_and_process(&mut tracker, &quiet, || 0.0, &samples).unwrap();
        assert_eq!((expected.rows, expected.cols), (base.rows, 3));
        for piece in [123, 1600, 100_000] {
            let mut pipeline = OnlineFeaturePipeline::new(columns(false), Speaker::default()).unwrap();
            assert_eq!(pipeline.model().dim(), 6);
            for samples in samples.chunks(piece) {
                pipeline.accept(16000.0, samples).unwrap();
                let base_frames = pipeline.base.ready();
                assert!(pipeline.frames_ready() <= base_frames.saturating_sub(10));
                assert!(pipeline.frames_ready() + 20 >= base_frames);
                assert_eq!(pipeline.ready(), pipeline.frames_ready());
                assert!(pipeline.frame(pipeline.frames_ready()).unwrap().is_none());
            }
            pipeline.finish().unwrap();
            assert_eq!(pipeline.frames_ready(), base.rows);
            for t in 0..base.rows {
                let frame = pipeline.frame(t).unwrap().unwrap().to_vec();
                assert_eq!(frame[..3], *base.row(t));
                assert_eq!(frame[3..], *expected.row(t), "frame {t}, pieces of {piece}");
            }
        }
        // With noise, two utterances have the same one; the slope alone differs.
        let mut noisy = OnlineFeaturePipeline::new(columns(true), Speaker::default()).unwrap();
        noisy.accept(16000.0, &samples).unwrap();
        noisy.finish().unwrap();
        let frame = noisy.frame(7).unwrap().unwrap().to_vec();
        assert_eq!(frame[3..5], expected.row(7)[..2]);
        assert!(frame[5] != expected.row(7)[2] && (frame[5] - expected.row(7)[2]).abs() < 0.3);
        let mut again = OnlineFeaturePipeline::new(columns(true), Speaker::default()).unwrap();
        again.accept(16000.0, &samples).unwrap();
        again.finish().unwrap();
        assert_eq!(again.frame(7).unwrap().unwrap(), frame);
    }

    fn options_and_cmvn(cmvn: Option<(OnlineCmvnOptions, CmvnStats)>) -> NetworkFeatures {
        NetworkFeatures { cmvn, ..options().into() }
    }

    /// Combines all settings: pitch is normalised too, the speaker has earlier utterances, and few frames are kept.
    #[test]
    fn pitch_with_normalisation_and_ivectors() {
        let samples = signal(160_000, 8);
        let cmvn = Some((OnlineCmvnOptions::default(), global(6)));
        let with = |kept| {
            let mut network =
                NetworkFeatures { pitch: Some(pitch_options()), ..options_and_cmvn(cmvn.clone()) };
            network.base.frames.max_feature_vectors = kept;
            Arc::new(PipelineModel::new(network, ivectors()).unwrap())
        };
        let run = |model| {
            let mut pipeline = OnlineFeaturePipeline::new(model, Speaker::default()).unwrap();
            let mut frames = Vec::new();
            for samples in samples.chunks(3000) {
                pipeline.accept(16000.0, samples).unwrap();
                while let Some(frame) = pipeline.frame(frames.len()).unwrap().map(<[f32]>::to_vec) {
                    frames.push(frame);
                }
            }
            pipeline.finish().unwrap();
            assert_eq!((pipeline.frames_ready(), pipeline.ready()), (998, 998));
            while let Some(frame) = pipeline.frame(frames.len()).unwrap().map(<[f32]>::to_vec) {
                frames.push(frame);
            }
            assert_eq!(frames.len(), 998);
            (frames, pipeline)
        };
        let (all, mut first) = run(with(None));
        let (few, mut second) = run(with(Some(201)));
        assert_eq!(all, few);
        assert!(second.frame(500).unwrap().is_none() && second.frame(998 - 201).unwrap().is_some());
        let speaker = first.speaker().unwrap();
        assert_eq!(speaker, second.speaker().unwrap());
        assert_eq!(speaker.cmvn.as_ref().unwrap().speaker.as_ref().unwrap().count, 998.0);
        // I-vectors are equal to the i-vectors of the pipeline without pitch.
        let mut plain = OnlineFeaturePipeline::new(model(false, ivectors()), Speaker::default()).unwrap();
        plain.accept(16000.0, &samples).unwrap();
        plain.finish().unwrap();
        assert_eq!(plain.ivector(997).unwrap(), first.ivector(997).unwrap());
        // Samples that arrive at once are processed even if no frame has been read.
        let mut late = OnlineFeaturePipeline::new(with(Some(201)), Speaker::default()).unwrap();
        late.accept(16000.0, &samples).unwrap();
        late.finish().unwrap();
        assert_eq!(late.speaker().unwrap().cmvn.unwrap().speaker.unwrap().count, 998.0);
    }

    #[test]
    fn what_does_not_fit() {
        let refused = |result: Result<PipelineModel>, words: &str| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        let cmvn = Some((OnlineCmvnOptions::default(), global(4)));
        let features = NetworkFeatures { cmvn, ..options().into() };
        refused(PipelineModel::new(features, None), "dimension 3, the global statistics of their");
        let mut four = options();
        four.mel.bins = 4;
        refused(PipelineModel::new(four, ivectors()), "dimension 4, those that i-vectors are estimated of 3");
        let mut none = options();
        none.frames.max_feature_vectors = Some(100);
        refused(PipelineModel::new(none, None), "`max-feature-vectors`=100");
        let with_pitch = |pitch| NetworkFeatures {
            pitch: Some((pitch, PitchProcessOptions::default())),
            ..options().into()
        };
        let eight = PitchOptions { sample_rate: 8000.0, ..PitchOptions::default() };
        refused(PipelineModel::new(with_pitch(eight), None), "pitch at 8000 Hz every 10 ms does not fit");
        let slow = PitchOptions { frame_shift: 20.0, ..PitchOptions::default() };
        refused(PipelineModel::new(with_pitch(slow), None), "every 20 ms");
        let other = Speaker { cmvn: Some(OnlineCmvnState::new(global(2))), adaptation: None };
        let error = OnlineFeaturePipeline::new(model(true, None), other).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("features of dimension 2, expected 3"), "{error}");
        let mut pipeline = OnlineFeaturePipeline::new(model(true, None), Speaker::default()).unwrap();
        assert!(pipeline.accept(44100.0, &[1.0; 10]).unwrap_err().to_string().contains("44100"));
    }
}
