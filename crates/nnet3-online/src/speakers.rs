//! Speakers of sentences: vectors from a network, as vosk makes them with its folder of a speaker model, and clusters of
//! such vectors.
//!
//! A vector is made of the speech of one sentence. Its features have no frames of silence, and their mean in a window of
//! 300 frames is subtracted. The vector is the network's output at time 0. The vector is T (output − mean), scaled to the
//! length √D.

use std::ops::Range;
use std::path::Path;

use kaldi_feat::sliding_cmn::SlidingCmn;
use kaldi_feat::spectral::{Extractor, FeatureStream, SpectralOptions};
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, read_object};
use kaldi_speaker::cluster::{ClusterOptions, cluster};
use kaldi_speaker::plda::{Length, Plda};
use kaldi_speaker::vectors;
use nnet3_core::execute::CachingCompiler;
use nnet3_core::forward::xvector::{XvectorForward, XvectorOptions};
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::collapse::CollapseOptions;
use nnet3_matrix::{Device, WeightForm};

use crate::config::spectral::{self, MfccArgs};
use crate::error::{Error, Result};

/// Fewer frames of speech give no vector.
pub const MIN_FRAMES: usize = 50;
const WINDOW: usize = 300;
/// Scores above which clusters are joined unless the caller chooses: a log likelihood ratio, and a cosine.
const PLDA_THRESHOLD: f32 = 0.0;
const COSINE_THRESHOLD: f32 = 0.4;

/// The parts of a speaker model.
pub struct SpeakerParts {
    /// Features that the network reads.
    pub features: SpectralOptions,
    /// The network, in test mode, with nodes `input` and `output`.
    pub network: Nnet,
    /// The mean of its outputs.
    pub mean: Vec<f32>,
    /// T, with as many columns as the mean has elements.
    pub transform: DenseMatrix<f32>,
    /// Scores pairs of vectors; cosines do without it.
    pub plda: Option<Plda>,
}

/// A speaker model that is ready for use. Threads may share it.
pub struct SpeakerModel {
    parts: SpeakerParts,
    device: Device,
}

/// The vector of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeakerVector {
    /// Its elements.
    pub values: Vec<f32>,
    /// Frames of speech that it is made of.
    pub frames: usize,
}

impl SpeakerParts {
    /// Reads a folder of vosk's form: `mfcc.conf`, `final.ext.raw`, `mean.vec` and `transform.mat`, and `plda` if it is
    /// there. Errors name the file that is missing or wrong.
    ///
    /// # Errors
    /// A file is missing or wrong. The error names it.
    pub fn load(folder: &str, device: &Device) -> Result<SpeakerParts> {
        let path = |name: &str| format!("{folder}/{name}");
        for name in ["mfcc.conf", "final.ext.raw", "mean.vec", "transform.mat"] {
            if !Path::new(&path(name)).exists() {
                return Err(Error::Data(format!("{folder}: the folder of the speaker model has no {name}")));
            }
        }
        let mut features = spectral::read::<MfccArgs>("mfcc.conf", &path("mfcc.conf"))?;
        // Sound at a higher rate has all that the model needs.
        features.frames.allow_downsample = true;
        // (The recogniser decides about sound at a lower rate; voices can be told apart by it.)
        features.frames.allow_upsample = true;
        let mut network = Nnet::load(&path("final.ext.raw"))?;
        network.set_batchnorm_test_mode(true);
        network.set_dropout_test_mode(true);
        network.collapse(&CollapseOptions::ALL)?;
        network.to_device(device);
        network.arrange_weights(device, WeightForm::Float);
        let plda = match Path::new(&path("plda")).exists() {
            true => Some(read_object(&path("plda"))?),
            false => None,
        };
        Ok(SpeakerParts {
            features,
            network,
            mean: read_object::<Vec<f32>>(&path("mean.vec"))?,
            transform: read_matrix(&path("transform.mat"))?,
            plda,
        })
    }
}

impl SpeakerModel {
    /// Opens the model in a folder of vosk's form ([`SpeakerParts::load`]), for the CPU.
    ///
    /// # Errors
    /// A file is missing or wrong, or does not fit the others.
    pub fn open(folder: &str) -> Result<SpeakerModel> {
        let device = nnet3_matrix::cpu();
        SpeakerModel::new(SpeakerParts::load(folder, &device)?, &device).map_err(Error::of(folder))
    }

    /// Checks the parts.
    ///
    /// # Errors
    /// Features, network, mean, transform and PLDA model do not fit each other.
    pub fn new(parts: SpeakerParts, device: &Device) -> Result<SpeakerModel> {
        let unfit = |what: &str, expected: usize, found: usize| {
            Err(Error::Data(format!("{what}: expected {expected} dimensions, found {found}")))
        };
        let dim = |dim: Option<usize>, node: &str| {
            dim.ok_or_else(|| Error::Data(format!("the speaker network has no node '{node}'")))
        };
        let input = dim(parts.network.input_dim("input"), "input")?;
        let output = dim(parts.network.output_dim("output"), "output")?;
        let features = Extractor::new(parts.features.clone())?.dim();
        if features != input {
            return unfit("features for the speaker network", input, features);
        }
        if parts.mean.len() != output {
            return unfit("mean of the speaker network's outputs", output, parts.mean.len());
        }
        if parts.transform.cols != output {
            return unfit("columns of the transform of speaker vectors", output, parts.transform.cols);
        }
        if let Some(plda) = &parts.plda
            && plda.dim() != parts.transform.rows
        {
            return unfit("PLDA model of speaker vectors", parts.transform.rows, plda.dim());
        }
        Ok(SpeakerModel { parts, device: device.clone() })
    }

    /// The rate (in Hz) of the sound that the model was trained with.
    pub fn sample_rate(&self) -> f32 {
        self.parts.features.frames.sample_rate
    }

    /// Seconds from a frame of the features to the next.
    pub fn frame_shift(&self) -> f32 {
        self.parts.features.frames.shift / 1000.0
    }

    /// The features of a sound, as its samples arrive.
    ///
    /// # Errors
    /// Features that cannot be made of sound in pieces.
    pub fn features(&self) -> Result<FeatureStream> {
        Ok(FeatureStream::new(Extractor::new(self.parts.features.clone())?)?)
    }

    /// Returns the vector of a sentence, and vectors of parts of it, ranges of frames. A vector is `None` if fewer than
    /// [`MIN_FRAMES`] frames are speech. `is_speech` tells it of a frame. `all` are the features of the sentence, a row for
    /// each frame ([`features`](Self::features)). Means are those of the sentence for its parts, too.
    ///
    /// # Errors
    /// The network fails, or a vector is not finite.
    pub fn vectors(
        &self,
        all: &DenseMatrix<f32>,
        is_speech: impl Fn(usize) -> bool,
        parts: &[Range<usize>],
    ) -> Result<(Option<SpeakerVector>, Vec<Option<SpeakerVector>>)> {
        let frames: Vec<usize> = (0..all.rows).filter(|&t| is_speech(t)).collect();
        if frames.len() < MIN_FRAMES {
            return Ok((None, vec![None; parts.len()]));
        }
        let mut speech = DenseMatrix::new(0, all.cols);
        for &t in &frames {
            speech.data.extend_from_slice(all.row(t));
            speech.rows += 1;
        }
        let window =
            SlidingCmn { window: WINDOW, min_window: WINDOW, center: true, normalize_variances: false };
        let (features, _) = window.apply(&speech)?;
        let part = |range: &Range<usize>| {
            let rows =
                frames.partition_point(|&t| t < range.start)..frames.partition_point(|&t| t < range.end);
            self.vector(&features, rows)
        };
        Ok((self.vector(&features, 0..frames.len())?, parts.iter().map(part).collect::<Result<_>>()?))
    }

    /// The vector of some rows of normalised features.
    fn vector(&self, features: &DenseMatrix<f32>, rows: Range<usize>) -> Result<Option<SpeakerVector>> {
        if rows.len() < MIN_FRAMES {
            return Ok(None);
        }
        let mut part = DenseMatrix::new(rows.len(), features.cols);
        part.data.copy_from_slice(&features.data[rows.start * features.cols..rows.end * features.cols]);
        let options = XvectorOptions { chunk_size: None, min_chunk_size: 1, pad_input: false };
        let compiler = CachingCompiler::new(Default::default(), Default::default());
        let mut forward = XvectorForward::new(&self.parts.network, &self.device, options, compiler)?;
        let output = forward.compute(&part)?;
        Ok(Some(SpeakerVector { values: self.normalized(&output.data)?, frames: part.rows }))
    }

    /// T (x − mean), scaled to the length √D.
    fn normalized(&self, output: &[f32]) -> Result<Vec<f32>> {
        let centred = vectors::subtract(output, &self.parts.mean)?;
        let mut values = vectors::transform(&self.parts.transform, &centred)?;
        vectors::check(&values)?;
        let ratio = vectors::length_ratio(&values, false);
        if ratio == 0.0 {
            return Err(Error::Data("the speaker vector is zero, so it cannot be normalised".to_owned()));
        }
        values.iter_mut().for_each(|x| *x /= ratio);
        Ok(values)
    }

    /// Returns the number of the speaker of each vector, from 1 on in the order of their first vectors. Clusters are joined
    /// while the mean score of their pairs is above `threshold`; without one, 0 for PLDA and 0.4 for cosines.
    ///
    /// # Errors
    /// Vectors of other dimensions than the model's.
    pub fn cluster(&self, vectors: &[&SpeakerVector], threshold: Option<f32>) -> Result<Vec<usize>> {
        if vectors.is_empty() {
            return Ok(Vec::new());
        }
        let (mut costs, usual) = match &self.parts.plda {
            Some(plda) => {
                let mut projected = Vec::new();
                for vector in vectors {
                    projected.push(plda.project(&vector.values, 1, Length::Expected)?.0);
                }
                (plda.scorer(1).all_pairs(&projected)?, PLDA_THRESHOLD)
            }
            None => (cosines(vectors), COSINE_THRESHOLD),
        };
        costs.data.iter_mut().for_each(|score| *score = -*score);
        let options = ClusterOptions {
            threshold: -threshold.unwrap_or(usual),
            min_clusters: 1,
            max_size: vectors.len(),
            first_pass_max: vectors.len().max(2),
        };
        Ok(in_order(&cluster(&costs, &options)?))
    }
}

/// Cosines of all pairs. All vectors have the length √D.
fn cosines(vectors: &[&SpeakerVector]) -> DenseMatrix<f32> {
    let mut out = DenseMatrix::new(vectors.len(), vectors.len());
    for (i, a) in vectors.iter().enumerate() {
        for (b, cosine) in vectors.iter().zip(out.row_mut(i)) {
            let product: f32 = a.values.iter().zip(&b.values).map(|(x, y)| x * y).sum();
            *cosine = product / a.values.len() as f32;
        }
    }
    out
}

/// Renumbers labels in the order in which they come, from 1 on.
fn in_order(labels: &[usize]) -> Vec<usize> {
    let mut seen: Vec<usize> = Vec::new();
    let number = |&label: &usize| match seen.iter().position(|&other| other == label) {
        Some(i) => i + 1,
        None => {
            seen.push(label);
            seen.len()
        }
    };
    labels.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_feat::spectral::{EnergyOptions, FrameOptions, Kind, MelOptions};
    use nnet3_core::config::parse_config;
    use nnet3_core::random::Random;

    /// Features of 13 cepstra, and a network that gives their means over time.
    fn parts() -> SpeakerParts {
        let config = "input-node name=input dim=13\n\
            component name=e type=StatisticsExtractionComponent input-dim=13 input-period=1 output-period=1 \
            include-variance=false\n\
            component-node name=e component=e input=input\n\
            component name=p type=StatisticsPoolingComponent input-dim=14 input-period=1 left-context=0 \
            right-context=10000 num-log-count-features=0 output-stddevs=false\n\
            component-node name=p component=p input=e\n\
            output-node name=output input=p";
        let mut network = Nnet::default();
        network.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
        let mut transform = DenseMatrix::new(2, 13);
        transform.row_mut(0)[0] = 1.0;
        transform.row_mut(1)[1] = 2.0;
        let features = SpectralOptions {
            frames: FrameOptions { dither: 0.0, ..FrameOptions::default() },
            mel: MelOptions::default(),
            energy: EnergyOptions { used: false, floor: 0.0, raw: true, htk_compat: false },
            kind: Kind::Mfcc { num_ceps: 13, cepstral_lifter: 22.0 },
        };
        SpeakerParts { features, network, mean: vec![0.5; 13], transform, plda: None }
    }

    fn tone(hz: f32) -> Vec<f32> {
        let sample =
            |i| 3000.0 * (std::f32::consts::TAU * hz * i as f32 / 16000.0).sin() + (i * 37 % 101) as f32;
        (0..16000).map(sample).collect()
    }

    /// The vector, step by step: features, speech, mean of a window of everything, mean over time, T (x − m), length.
    #[test]
    fn a_vector_is_that_of_the_formula() {
        let model = SpeakerModel::new(parts(), &nnet3_matrix::cpu()).unwrap();
        let samples = tone(440.0);
        let all =
            Extractor::new(model.parts.features.clone()).unwrap().features(&samples, 16000.0, 1.0).unwrap();
        let (found, parts) = model.vectors(&all, |t| t % 10 != 0, &[0..98, 0..50, 10..70]).unwrap();
        let found = found.unwrap();
        assert_eq!(found.frames, 98 - 10);
        // Fewer frames than the window: the mean of all is subtracted, and the mean of the rest is 0, so x − m = −0.5.
        let expected = [-0.5f32, -1.0];
        let scale = (2.0f32 / (0.25 + 1.0)).sqrt();
        for (found, expected) in found.values.iter().zip(expected) {
            assert!((found - expected * scale).abs() < 1e-3, "{found} {expected}");
        }
        // A part of all frames, one of too few, and one of 54: its own vector, with the means of the whole.
        assert_eq!((&parts[0], &parts[1]), (&Some(found.clone()), &None));
        let part = parts[2].as_ref().unwrap();
        assert!(part.frames == 54 && part.values != found.values);
        let frames = |most: usize| model.vectors(&all, |t| t < most, &[]).unwrap().0.map(|v| v.frames);
        assert_eq!((frames(MIN_FRAMES - 1), frames(MIN_FRAMES)), (None, Some(MIN_FRAMES)));
    }

    #[test]
    fn clusters_are_numbered_in_order() {
        let model = SpeakerModel::new(parts(), &nnet3_matrix::cpu()).unwrap();
        let vector = |x: f32, y: f32| {
            let scale = (2.0 / (x * x + y * y)).sqrt();
            SpeakerVector { values: vec![x * scale, y * scale], frames: 100 }
        };
        let all =
            [vector(0.0, 1.0), vector(1.0, 0.1), vector(0.2, 1.0), vector(1.0, -0.1), vector(-1.0, 0.0)];
        let all: Vec<&SpeakerVector> = all.iter().collect();
        assert_eq!(model.cluster(&all, None).unwrap(), [1, 2, 1, 2, 3]);
        assert_eq!(model.cluster(&all, Some(-2.0)).unwrap(), [1; 5]);
        assert_eq!(model.cluster(&all, Some(0.9999)).unwrap(), [1, 2, 3, 4, 5]);
        assert_eq!(model.cluster(&[], None).unwrap(), [0usize; 0]);
        assert_eq!(in_order(&[7, 3, 7, 9]), [1, 2, 1, 3]);
    }

    #[test]
    fn parts_must_fit() {
        let refused =
            |parts: SpeakerParts| SpeakerModel::new(parts, &nnet3_matrix::cpu()).err().unwrap().to_string();
        let (mut mean, mut transform) = (parts(), parts());
        mean.mean.pop();
        assert_eq!(refused(mean), "mean of the speaker network's outputs: expected 13 dimensions, found 12");
        transform.transform = DenseMatrix::new(2, 14);
        assert_eq!(
            refused(transform),
            "columns of the transform of speaker vectors: expected 13 dimensions, found 14"
        );
        let mut features = parts();
        features.features.kind = Kind::Fbank { log: true, power: true };
        assert!(
            refused(features)
                .starts_with("features for the speaker network: expected 13 dimensions, found 23")
        );
    }
}
