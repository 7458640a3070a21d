//! The files of a recogniser: those of its folder, and those that `recognizer.sh` has beside it.

use std::path::{Path, PathBuf};

/// A recogniser in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The folder, in one of vosk's forms.
    pub folder: PathBuf,
    /// Trees that may be the model's, the best first.
    pub trees: Vec<PathBuf>,
    /// Tables with names of phones that may be the model's, for a graph without them.
    pub phones: Vec<PathBuf>,
}

/// True for a folder of a recogniser, in one of vosk's forms.
fn is_recogniser(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).is_file();
    has("am/final.mdl") || (has("final.mdl") && (has("HCLG.fst") || has("HCLr.fst")))
}

/// Finds the recogniser of a folder, or of a folder of `recognizer.sh`, which has it as `model`. `None` if there is none.
pub(crate) fn find(path: &Path) -> Option<Place> {
    let (folder, training) = if is_recogniser(path) {
        // A model folder may be the one within a folder of recognizer.sh.
        let is_model = path.file_name().is_some_and(|name| name == "model");
        (path.to_owned(), is_model.then(|| path.join("..")))
    } else if is_recogniser(&path.join("model")) {
        (path.join("model"), Some(path.to_owned()))
    } else {
        return None;
    };
    let mut trees = vec![folder.join("am/tree"), folder.join("tree")];
    if let Some(training) = &training {
        let names = ["chain/model/tree", "tree/tree", "gaussian/model/tree", "gauss/model/tree"];
        trees.extend(names.iter().map(|name| training.join(name)));
    }
    trees.retain(|tree| tree.is_file());
    // (The phones of its Gaussian models have the names and numbers of the network's.)
    let mut phones: Vec<PathBuf> = training.iter().map(|training| training.join("lang/phones.txt")).collect();
    phones.push(folder.join("adaptation/phones.txt"));
    phones.retain(|file| file.is_file());
    Some(Place { folder, trees, phones })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(folder: &Path, name: &str) {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }

    #[test]
    fn a_recogniser_is_found_in_all_forms_and_gaussians_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["vosk/am/final.mdl", "flat/final.mdl", "flat/HCLG.fst", "gauss/final.mdl", "gauss/tree"]
        {
            touch(folder.path(), name);
        }
        for name in ["exp/model/am/final.mdl", "exp/tree/tree", "exp/lang/phones.txt"] {
            touch(folder.path(), name);
        }
        assert_eq!(find(&at("vosk")).unwrap().folder, at("vosk"));
        assert_eq!(find(&at("flat")).unwrap().trees, Vec::<PathBuf>::new());
        assert_eq!(find(&at("gauss")), None);
        let outer = find(&at("exp")).unwrap();
        assert_eq!((&outer.folder, &outer.trees[..]), (&at("exp/model"), &[at("exp/tree/tree")][..]));
        let inner = find(&at("exp/model")).unwrap();
        assert_eq!(inner.phones, [at("exp/model/../lang/phones.txt")]);
        // A folder that was copied has the names that its Gaussian models have.
        touch(folder.path(), "vosk/adaptation/phones.txt");
        assert_eq!(find(&at("vosk")).unwrap().phones, [at("vosk/adaptation/phones.txt")]);
    }
}
