//! Features of Gaussian models in folders of Kaldi's scripts and of `recognizer.sh`.

use std::path::Path;

use kaldi_aligner::{FeatureSettings, META, OPTIONS};
use nnet3_online::config;
use nnet3_online::config::spectral::{MfccArgs, SpectralArgs};

use crate::{Error, Result};

/// The features that a folder names by options of `compute-mfcc-feats`, in the folder itself or in its `conf`. `None` if it names
/// none, or has [`META`].
pub(crate) fn of_folder(folder: &Path) -> Result<Option<FeatureSettings>> {
    if folder.join(META).is_file() {
        return Ok(None);
    }
    let places = [folder.join(OPTIONS), folder.join("conf").join(OPTIONS)];
    let Some(file) = places.iter().find(|file| file.is_file()) else { return Ok(None) };
    let fail = |message: String| Error::File { path: file.display().to_string(), message };
    let name = file.to_str().ok_or_else(|| fail("the name is not UTF-8".to_owned()))?;
    let options = config::read::<MfccArgs>("options of features", name).and_then(|args| args.options());
    let options = options.map_err(|error| fail(kaldi_io::error::chain(&error)))?;
    FeatureSettings::of(&options).map(Some).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_beside_a_model_name_its_features() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert_eq!(of_folder(path).unwrap(), None);
        std::fs::create_dir(path.join("conf")).unwrap();
        let put = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
        put("conf/mfcc.conf", "--sample-frequency=8000\n--use-energy=false # as Kaldi's recipes\n");
        let found = of_folder(path).unwrap().unwrap();
        assert_eq!((found.rate, found.cepstra, found.bins, found.snip_edges), (8000, 13, 23, true));
        put(
            "mfcc.conf",
            "--sample-frequency=11025\n--num-mel-bins=40\n--high-freq=-400\n--snip-edges=false\n",
        );
        let found = of_folder(path).unwrap().unwrap();
        assert_eq!((found.rate, found.bins, found.high, found.snip_edges), (11025, 40, -400.0, false));
        put("mfcc.conf", "--window-type=hamming\n");
        let error = of_folder(path).unwrap_err().to_string();
        assert!(error.contains("mfcc.conf") && error.contains("--window-type"), "{error}");
        put("mfcc.conf", "--num-cepstra=13\n");
        assert!(of_folder(path).unwrap_err().to_string().contains("--num-cepstra"));
        put("meta.json", "{}");
        assert_eq!(of_folder(path).unwrap(), None);
    }
}
