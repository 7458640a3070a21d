//! From samples to what a network reads (`OnlineNnet2FeaturePipeline` of `online2/online-nnet2-feature-pipeline.cc`).

use std::collections::VecDeque;
use std::sync::Arc;

use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::{OnlineCmvnOptions, OnlineCmvnState, OnlineCmvnStream};
use kaldi_feat::spectral::{Extractor, FeatureStream, SpectralOptions};

use crate::error::{Error, Result};
use crate::ivector::{AdaptationState, Diagnostics, IvectorModel, IvectorStream};

/// Frames at a time that are computed where not all are kept: fewer than those that are kept at least.
const FRAMES_AT_ONCE: usize = 100;

/// All that does not change from utterance to utterance.
#[derive(Debug)]
pub struct PipelineModel {
    features: SpectralOptions,
    cmvn: Option<(OnlineCmvnOptions, CmvnStats)>,
    ivectors: Option<Arc<IvectorModel>>,
}

/// What is known of a speaker; of one that is new, nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Speaker {
    /// What i-vectors begin with.
    pub adaptation: Option<AdaptationState>,
    /// What the normalisation of the network's features begins with.
    pub cmvn: Option<OnlineCmvnState>,
}

impl PipelineModel {
    /// Features of sound, which may be normalised for the network (with these global statistics), and i-vectors of them as
    /// they are without that. An error if dimensions do not fit.
    pub fn new(
        features: SpectralOptions,
        cmvn: Option<(OnlineCmvnOptions, CmvnStats)>,
        ivectors: Option<Arc<IvectorModel>>,
    ) -> Result<Self> {
        FeatureStream::new(Extractor::new(features.clone())?)?;
        let dim = features.dim();
        if let Some((options, global)) = &cmvn {
            options.check(global)?;
            if global.dim() != dim {
                return Err(Error::data(format!(
                    "the features of sound have dimension {dim}, the global statistics of their normalisation {}",
                    global.dim()
                )));
            }
        }
        if let Some(model) = ivectors.as_ref().filter(|model| model.feature_dim() != dim) {
            return Err(Error::data(format!(
                "the features of sound have dimension {dim}, those that i-vectors are estimated of {}",
                model.feature_dim()
            )));
        }
        Ok(PipelineModel { features, cmvn, ivectors })
    }

    /// The dimension of what a network reads, besides i-vectors.
    pub fn dim(&self) -> usize {
        self.features.dim()
    }
    /// The dimension of i-vectors, if there are any.
    pub fn ivector_dim(&self) -> Option<usize> {
        self.ivectors.as_ref().map(|model| model.ivector_dim())
    }
    /// In seconds.
    pub fn frame_shift(&self) -> f32 {
        self.features.frames.shift / 1000.0
    }
    /// The rate (in Hz) of sound that needs no resampling.
    pub fn sample_rate(&self) -> f32 {
        self.features.frames.sample_rate
    }
}

/// The features of one utterance while its samples arrive.
pub struct OnlineFeaturePipeline {
    model: Arc<PipelineModel>,
    base: FeatureStream,
    /// Frames of `base` that have gone on.
    passed: usize,
    cmvn: Option<Normalized>,
    ivectors: Option<IvectorStream>,
}

/// Frames that are normalised for the network; `dropped` were before them.
struct Normalized {
    stream: OnlineCmvnStream,
    frames: VecDeque<Vec<f32>>,
    dropped: usize,
}

impl OnlineFeaturePipeline {
    /// Begins an utterance.
    pub fn new(model: Arc<PipelineModel>, speaker: Speaker) -> Result<Self> {
        let base = FeatureStream::new(Extractor::new(model.features.clone())?)?;
        let cmvn = model.cmvn.as_ref().map(|(options, global)| {
            let state = speaker.cmvn.unwrap_or_else(|| OnlineCmvnState::new(global.clone()));
            if state.global.dim() != model.dim() {
                return Err(Error::data(format!(
                    "what is known of the speaker is of features of dimension {}, expected {}",
                    state.global.dim(),
                    model.dim()
                )));
            }
            let stream = OnlineCmvnStream::new(options.clone(), state)?;
            Ok(Normalized { stream, frames: VecDeque::new(), dropped: 0 })
        });
        let ivectors = model.ivectors.as_ref().map(|ivectors| {
            let state = speaker.adaptation.unwrap_or_else(|| ivectors.new_speaker());
            IvectorStream::new(ivectors.clone(), state)
        });
        let (cmvn, ivectors) = (cmvn.transpose()?, ivectors.transpose()?);
        Ok(OnlineFeaturePipeline { model, base, passed: 0, cmvn, ivectors })
    }

    pub fn model(&self) -> &Arc<PipelineModel> {
        &self.model
    }

    /// Takes the next samples, at this rate (in Hz), which must stay the same. They are as in wave files, not between −1
    /// and 1.
    pub fn accept(&mut self, rate: f32, samples: &[f32]) -> Result<()> {
        // Where few frames are kept, not so many may come at once that some are dropped before they are used.
        let most = match self.model.features.frames.max_feature_vectors {
            None => samples.len(),
            Some(_) => (rate * self.model.frame_shift()) as usize * FRAMES_AT_ONCE,
        };
        for samples in samples.chunks(most.max(1)) {
            self.base.accept(rate, samples)?;
            self.pass()?;
        }
        Ok(())
    }

    /// Says that no more samples come: the last frames become ready.
    pub fn finish(&mut self) -> Result<()> {
        self.base.finish();
        self.pass()?;
        if let Some(ivectors) = &mut self.ivectors {
            ivectors.finish();
        }
        Ok(())
    }

    pub fn is_finished(&self) -> bool {
        self.base.is_finished()
    }

    /// Gives new frames to what needs them.
    fn pass(&mut self) -> Result<()> {
        let kept = self.model.features.frames.max_feature_vectors;
        while self.passed < self.base.ready() {
            let Some(frame) = self.base.frame(self.passed) else {
                return Err(Error::data(format!("frame {} was dropped before it was used", self.passed)));
            };
            if let Some(ivectors) = &mut self.ivectors {
                ivectors.accept(frame)?;
            }
            if let Some(Normalized { stream, frames, dropped }) = &mut self.cmvn {
                let mut frame = frame.to_vec();
                stream.normalize(&mut frame)?;
                frames.push_back(frame);
                if kept.is_some_and(|kept| frames.len() > 2 * kept) {
                    frames.pop_front();
                    *dropped += 1;
                }
            }
            self.passed += 1;
        }
        Ok(())
    }

    /// Frames for the network so far.
    pub fn frames_ready(&self) -> usize {
        self.passed
    }

    /// Frames so far for which there are i-vectors too.
    pub fn ready(&self) -> usize {
        self.ivectors.as_ref().map_or(self.passed, |ivectors| ivectors.ready().min(self.passed))
    }

    /// Frame `t` for the network, without i-vector; `None` if it is not there yet, or not any more.
    pub fn frame(&self, t: usize) -> Option<&[f32]> {
        match &self.cmvn {
            None => self.base.frame(t),
            Some(cmvn) => cmvn.frames.get(t.checked_sub(cmvn.dropped)?).map(Vec::as_slice),
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

    /// Adds to the weights that frames have for i-vectors (see [`crate::silence`]); without i-vectors nothing is done.
    pub fn change_weights(&mut self, changes: impl IntoIterator<Item = (usize, f32)>) -> Result<()> {
        self.ivectors.as_mut().map_or(Ok(()), |ivectors| ivectors.change_weights(changes))
    }

    /// What is known of the speaker after the frames so far, for the next utterance.
    pub fn speaker(&self) -> Speaker {
        Speaker {
            adaptation: self.ivectors.as_ref().map(IvectorStream::adaptation_state),
            cmvn: self.cmvn.as_ref().map(|cmvn| cmvn.stream.state()),
        }
    }

    /// How the estimation of i-vectors went, if there are any.
    pub fn diagnostics(&self) -> Option<Diagnostics> {
        self.ivectors.as_ref().map(IvectorStream::diagnostics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ivector::{IvectorOptions, Parts};
    use kaldi_feat::online_cmvn::OnlineCmvn;
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

    fn model(cmvn: bool, ivectors: Option<Arc<IvectorModel>>) -> Arc<PipelineModel> {
        let cmvn = cmvn.then(|| (OnlineCmvnOptions::default(), global(3)));
        Arc::new(PipelineModel::new(options(), cmvn, ivectors).unwrap())
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
                    assert_eq!(pipeline.frame(t).unwrap(), normalized.row(t));
                    assert_eq!(pipeline.ivector(t).unwrap(), Some(expected.ivector(t).unwrap()));
                }
                assert!(pipeline.frame(features.rows).is_none());
                // After the last frame, its i-vector.
                let last = pipeline.ivector(features.rows - 1).unwrap();
                assert_eq!(pipeline.ivector(9999).unwrap(), last);
                assert_eq!(pipeline.diagnostics().unwrap(), expected.diagnostics());
                (speaker, state) = (pipeline.speaker(), expected.adaptation_state());
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
        assert_eq!((pipeline.speaker(), pipeline.ready()), (Speaker::default(), 23));
        assert_eq!((pipeline.model().dim(), pipeline.model().ivector_dim()), (3, None));
        assert_eq!((pipeline.model().frame_shift(), pipeline.model().sample_rate()), (0.01, 16000.0));
        let features = whole(&samples);
        assert!((0..23).all(|t| pipeline.frame(t).unwrap() == features.row(t)));
        // A frame that does not count is as if it were not there.
        let mut pipeline = OnlineFeaturePipeline::new(model(false, ivectors()), Speaker::default()).unwrap();
        pipeline.change_weights([]).unwrap();
        pipeline.accept(16000.0, &samples).unwrap();
        assert!(pipeline.ivector(8).unwrap().unwrap().iter().all(|&x| x == 0.0));
        pipeline.change_weights((9..20).map(|t| (t, 1.0))).unwrap();
        assert!(pipeline.ivector(12).unwrap().unwrap().iter().any(|&x| x != 0.0));
    }

    /// Shows that of a long sound which comes at once only the last frames are kept, but all are used.
    #[test]
    fn few_frames_are_kept() {
        let samples = signal(160_000, 4);
        let mut options = options();
        options.frames.max_feature_vectors = Some(201);
        let cmvn = Some((OnlineCmvnOptions::default(), global(3)));
        let ivectors = ivectors();
        let model = Arc::new(PipelineModel::new(options, cmvn, ivectors.clone()).unwrap());
        let mut pipeline = OnlineFeaturePipeline::new(model, Speaker::default()).unwrap();
        pipeline.accept(16000.0, &samples).unwrap();
        pipeline.finish().unwrap();
        assert_eq!(pipeline.ready(), 998);
        assert!(pipeline.frame(500).is_none() && pipeline.frame(998 - 201).is_some());
        let mut all = OnlineFeaturePipeline::new(self::model(true, ivectors), Speaker::default()).unwrap();
        all.accept(16000.0, &samples).unwrap();
        all.finish().unwrap();
        assert_eq!(all.ivector(997).unwrap(), pipeline.ivector(997).unwrap());
        assert_eq!(all.frame(990), pipeline.frame(990));
    }

    #[test]
    fn what_does_not_fit() {
        let refused = |result: Result<PipelineModel>, words: &str| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        let cmvn = |dim| Some((OnlineCmvnOptions::default(), global(dim)));
        refused(PipelineModel::new(options(), cmvn(4), None), "dimension 3, the global statistics of their");
        let mut four = options();
        four.mel.bins = 4;
        refused(
            PipelineModel::new(four, None, ivectors()),
            "dimension 4, those that i-vectors are estimated of 3",
        );
        let mut none = options();
        none.frames.max_feature_vectors = Some(100);
        refused(PipelineModel::new(none, None, None), "--max-feature-vectors=100");
        let other = Speaker { cmvn: Some(OnlineCmvnState::new(global(2))), adaptation: None };
        let error = OnlineFeaturePipeline::new(model(true, None), other).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("features of dimension 2, expected 3"), "{error}");
        let mut pipeline = OnlineFeaturePipeline::new(model(true, None), Speaker::default()).unwrap();
        assert!(pipeline.accept(44100.0, &[1.0; 10]).unwrap_err().to_string().contains("44100"));
    }
}
