//! ELAN's files: tiers of words and phones, a pair for each speaker.

use std::path::{Component, Path, PathBuf};

use kaldi_corpus::eaf::{Document, Media, TimedTier};
use kaldi_corpus::textgrid::Items;
use kaldi_corpus::{Corpus, Source};

use super::OfRecording;
use super::textgrid::{Unit, tiers};

/// The text of a recording's file, which will be `file`. Its tiers have the names, and its annotations the times, of the TextGrid.
pub(super) fn text(corpus: &Corpus, of: &OfRecording, file: &Path) -> String {
    let recording = &corpus.recordings[of.recording];
    let media = match &recording.source {
        Source::File(sound) => media(sound, file),
        Source::Extended(_) => None,
    };
    let all = tiers(corpus, of.recording, of.aligned());
    let mut written: Vec<TimedTier> = Vec::new();
    let mut words = None;
    for (speaker, unit, tier) in all {
        let annotations = match tier.items {
            Items::Intervals(intervals) => intervals
                .into_iter()
                .filter(|interval| !interval.text.is_empty())
                .map(|interval| ((interval.begin, interval.end), interval.text))
                .collect(),
            Items::Points(_) => Vec::new(),
        };
        let (kind, parent) = match unit {
            Unit::Words => ("words", None),
            Unit::Phones => ("phones", words.take()),
        };
        if unit == Unit::Words {
            words = Some(tier.name.clone());
        }
        written.push(TimedTier { name: tier.name, kind, participant: speaker, parent, annotations });
    }
    Document { media, tiers: written }.to_text()
}

/// The place of a recording, absolute and from the folder of `file`.
fn media(sound: &Path, file: &Path) -> Option<Media> {
    let sound = plain(&std::path::absolute(sound).ok()?);
    let folder = plain(std::path::absolute(file).ok()?.parent()?);
    Some(Media {
        url: format!("file://{}", sound.to_str()?),
        relative: Some(relative(&sound, &folder).to_str()?.to_owned()),
        origin: 0.0,
    })
}

/// An absolute path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// The path from a folder to a file, with `./` or `../` at its beginning, as ELAN has it.
fn relative(file: &Path, folder: &Path) -> PathBuf {
    let shared = file.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).count();
    let mut out = PathBuf::from(if up == 0 { "." } else { ".." });
    (1..up).for_each(|_| out.push(".."));
    out.extend(file.components().skip(shared));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_named_from_the_folder_of_the_file() {
        for (sound, file, expected) in [
            ("/c/a b.wav", "/c/out/eaf/x/a.eaf", "../../../a b.wav"),
            ("/c/a.wav", "/c/a.eaf", "./a.wav"),
            ("/c/x/../a.wav", "/d/out/eaf/a.eaf", "../../../c/a.wav"),
            ("/c/in/a.wav", "/c/a.eaf", "./in/a.wav"),
        ] {
            let media = media(Path::new(sound), Path::new(file)).unwrap();
            assert_eq!(media.relative.as_deref(), Some(expected), "{sound}, {file}");
        }
        assert_eq!(media(Path::new("/c/a.wav"), Path::new("/c/a.eaf")).unwrap().url, "file:///c/a.wav");
    }
}
