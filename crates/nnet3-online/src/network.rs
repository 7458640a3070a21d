//! Networks of acoustic models, ready to run.

use kaldi_hmm::TransitionModel;
use nnet3_core::forward::OutputScaling;
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::collapse::CollapseOptions;
use nnet3_matrix::{Device, WeightForm};
use nnet3_train::acoustic::AmNnet;

use crate::error::{Error, Result};
use crate::notice::Notice;

/// An acoustic model with a network for forward runs only.
pub struct AcousticNetwork {
    /// HMMs and their pdfs.
    pub transitions: TransitionModel,
    /// The network, in test mode on the device, with components merged if that does not change outputs.
    pub nnet: Nnet,
    /// The way from outputs to scaled log-likelihoods, with the priors if the model has some.
    pub scaling: OutputScaling,
    /// False for a model of Gaussians that is written as a network.
    pub is_trained: bool,
}

impl AcousticNetwork {
    /// Reads an acoustic model, and prepares its network for the device.
    ///
    /// # Errors
    /// The model cannot be read, or its network cannot run in chunks.
    pub fn load(
        rxfilename: &str,
        device: &Device,
        acoustic_scale: f32,
        form: WeightForm,
    ) -> Result<(AcousticNetwork, Vec<Notice>)> {
        let model = AmNnet::load(rxfilename)?;
        let mut notices = Vec::new();
        let components: Vec<String> = model.nnet().not_finite()?.into_iter().map(str::to_owned).collect();
        if !components.is_empty() {
            notices.push(Notice::NotFinite { file: rxfilename.to_owned(), components });
        }
        let log_priors = model.log_priors().map_err(Error::of(rxfilename))?;
        let transitions = model.transitions.clone();
        let mut nnet = model.into_nnet();
        nnet.set_batchnorm_test_mode(true);
        nnet.set_dropout_test_mode(true);
        let report = nnet.collapse(&CollapseOptions::ALL)?;
        if !report.is_empty() {
            notices.push(Notice::Merged(report));
        }
        let is_trained = nnet.is_trained();
        nnet.to_device(device);
        nnet.arrange_weights(device, form);
        let scaling = OutputScaling { log_priors, scale: acoustic_scale };
        Ok((AcousticNetwork { transitions, nnet, scaling, is_trained }, notices))
    }
}
