//! What is carried from one utterance of a speaker to the next (`OnlineIvectorExtractorAdaptationState` of
//! `online2/online-ivector-feature.cc`).

use kaldi_feat::online_cmvn::OnlineCmvnState;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};

use super::stats::IvectorStats;

#[derive(Debug, Clone, PartialEq)]
pub struct AdaptationState {
    /// Of the normalisation of the features that posteriors come from.
    pub cmvn: OnlineCmvnState,
    pub stats: IvectorStats,
}

impl AdaptationState {
    /// Scales what is known down to so many frames, where statistics of i-vectors count `posterior_scale` for a frame.
    pub(crate) fn limit(&mut self, most_frames: f64, posterior_scale: f64) {
        self.cmvn.limit(most_frames);
        let most = most_frames * posterior_scale;
        if self.stats.count() > most {
            self.stats.scale(most / self.stats.count());
        }
    }
}

impl KaldiObject for AdaptationState {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        r.expect_token("<OnlineIvectorExtractorAdaptationState>")?;
        r.expect_token("<CmvnState>")?;
        let cmvn = OnlineCmvnState::read(r)?;
        r.expect_token("<IvectorStats>")?;
        let stats = IvectorStats::read(r)?;
        r.expect_token("</OnlineIvectorExtractorAdaptationState>")?;
        Ok(AdaptationState { cmvn, stats })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<OnlineIvectorExtractorAdaptationState>")?;
        w.write_token("<CmvnState>")?;
        self.cmvn.write(w)?;
        w.write_token("<IvectorStats>")?;
        self.stats.write(w)?;
        w.write_token("</OnlineIvectorExtractorAdaptationState>")
    }
}
