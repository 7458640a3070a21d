//! Batches: folders of links to recordings without a text, one for each job.

use std::fs;
use std::path::Path;

use super::folder::Folder;
use super::names::{plain, stem_and_suffix};
use crate::{Error, Result};

/// The most characters of the ending of a link.
const LONGEST: usize = 20;

impl Folder {
    /// Makes the folders 1, 2, … in `to`, with links to the recordings without a text, at most `size` in each. Returns their number.
    /// Warnings of earlier calls about these recordings are dropped.
    ///
    /// # Errors
    /// The table of names cannot be read, or a folder or a link cannot be made.
    pub fn batches(&self, size: usize, to: &Path) -> Result<usize> {
        let mut left = self.names()?;
        left.retain(|(name, _)| !self.has_text(name));
        let mut warnings = self.warnings()?;
        let before = warnings.len();
        left.iter().for_each(|(name, _)| drop(warnings.remove(name)));
        if warnings.len() < before {
            self.set_warnings(&warnings)?;
        }
        let count = left.len().div_ceil(size.max(1));
        for (place, (name, path)) in left.iter().enumerate() {
            let folder = to.join((place % count + 1).to_string());
            fs::create_dir_all(&folder).map_err(|source| Error::io(&folder, source))?;
            let link = folder.join(format!("{name}.{}", ending(path)));
            std::os::unix::fs::symlink(path, &link).map_err(|source| Error::io(&link, source))?;
        }
        Ok(count)
    }
}

/// The ending of a link to a recording, without a dot.
fn ending(path: &str) -> String {
    match stem_and_suffix(path).1 {
        "" => "sound".to_owned(),
        suffix => plain(suffix).chars().take(LONGEST).collect(),
    }
}
