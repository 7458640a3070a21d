//! The state that one utterance of a speaker leaves to the next (`OnlineIvectorExtractorAdaptationState` of
//! `online2/online-ivector-feature.cc`).

use kaldi_feat::online_cmvn::OnlineCmvnState;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};
use kaldi_ivector::OnlineStats;

#[derive(Debug, Clone, PartialEq)]
pub struct AdaptationState {
    /// The state of the normalisation of the features that posteriors come from.
    pub cmvn: OnlineCmvnState,
    pub stats: OnlineStats,
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
        let stats = OnlineStats::read(r)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_feat::cmvn::CmvnStats;
    use kaldi_io::testing::{from_text, in_both_forms};

    #[test]
    fn files() {
        let global = CmvnStats { count: 4.0, sums: vec![1.0, 2.0], squares: Some(vec![0.5, 8.0]) };
        let mut stats = OnlineStats::new(2, 12.5, 100.0);
        stats.scale(0.5);
        let state = AdaptationState { cmvn: OnlineCmvnState::new(global), stats };
        let (text, binary) = in_both_forms(&state);
        assert!(
            binary.starts_with(b"<OnlineIvectorExtractorAdaptationState> <CmvnState> <OnlineCmvnState> ")
        );
        let refused = |old: &str, new: &str, words: &str| {
            assert!(text.contains(old), "{old}: {text}");
            let error = from_text::<AdaptationState>(&text.replace(old, new)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("<LinearTerm>  [ 12.5 0 ]", "<LinearTerm>  [ 12.5 ]", "dimension 2, a linear one of 1");
        refused("<LinearTerm>  [ 12.5 0 ]", "<LinearTerm>  [ nan 0 ]", "invalid value NaN");
        refused("<MaxCount> 100", "<LeastCount> 100", "found '<LeastCount>'");
        for end in 0..text.len() - 2 {
            assert!(from_text::<AdaptationState>(&text[..end]).is_err(), "{end}");
        }
        // Files from before there was a limit.
        let old = from_text::<AdaptationState>(&text.replace("<MaxCount> 100 ", "")).unwrap();
        assert_eq!((old.cmvn, old.stats), (state.cmvn, OnlineStats::new(2, 12.5, 0.0)));
    }
}
