//! Recordings with transcripts: what cannot be used is found before anything is recognised.

use std::collections::BTreeMap;

use kaldi_io::text::count;
use kaldi_lang::plain_text::{self, fields, lines};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{known_words, lengths, speakers, write};
use crate::{Error, Result};

/// Files of a folder of work, each with a line for each recording.
const FILES: [&str; 4] = ["recordings", "wav.scp", "transcripts", "text"];

/// Faults of recordings: the first one is the error, or each is a warning and its recording is left out.
struct Faults<'w> {
    skip: bool,
    keys: FxHashSet<String>,
    warn: &'w mut dyn FnMut(&str),
}

impl Faults<'_> {
    fn add(&mut self, key: &str, sentence: &str) -> Result<()> {
        if !self.skip {
            return Err(Error::Data(format!("{sentence} (--skip-bad=true leaves such recordings out)")));
        }
        (self.warn)(&format!("{sentence}: the recording is left out"));
        self.keys.insert(key.to_owned());
        Ok(())
    }

    fn check_rest(&mut self, is_empty: bool) -> Result<()> {
        if !self.keys.is_empty() {
            (self.warn)(&format!("{}: left out", count(self.keys.len(), "recording")));
        }
        if is_empty { Err(Error::Data("no recording is left".to_owned())) } else { Ok(()) }
    }

    fn add_repeated(&mut self, file: &str, text: &str) -> Result<()> {
        let (mut seen, mut found) = (FxHashSet::default(), FxHashSet::default());
        for (line, content) in lines(text) {
            let key = fields(content)[0];
            if !seen.insert(key) && found.insert(key) {
                self.add(key, &format!("{file}, line {line}: '{key}' has a line before"))?;
            }
        }
        Ok(())
    }

    /// The sources of sound by their keys.
    fn sounds(&mut self, file: &str, text: &str) -> Result<FxHashMap<String, String>> {
        let mut sounds = FxHashMap::default();
        for (line, content) in lines(text) {
            let content = content.replace('\t', " ");
            let (key, source) = content.split_once(' ').unwrap_or((&content, ""));
            if key.contains(['/', '@']) || key.starts_with('-') {
                let rule = "keys must not have / or @ in them, nor begin with a hyphen";
                self.add(key, &format!("{file}, line {line}: '{key}': {rule}"))?;
            }
            if source.trim().is_empty() {
                let sentence =
                    format!("{file}, line {line}: expected a file or a command after '{key}', found none");
                self.add(key, &sentence)?;
            }
            sounds.insert(key.to_owned(), source.trim().to_owned());
        }
        Ok(sounds)
    }
}

/// Checks a data folder (`wav.scp`, `text`, maybe `utt2spk`) of whole recordings, and writes into the folder `work`:
/// `recordings` (keys), `wav.scp`, `transcripts`, and `text`, the transcripts without words that `words.txt` lacks. All are
/// sorted by key. If `skip` is true, recordings that cannot be used are left out, with a warning for each.
///
/// # Errors
/// A file is no table, a recording cannot be used, or none is left.
pub fn check(data: &str, words: &str, work: &str, skip: bool, warn: &mut dyn FnMut(&str)) -> Result<()> {
    let words: FxHashSet<String> = known_words(words)?.into_values().collect();
    let (scp, text) = (format!("{data}/wav.scp"), format!("{data}/text"));
    let (scp_text, transcripts) = (plain_text::read(&scp)?, plain_text::read(&text)?);
    let mut faults = Faults { skip, keys: FxHashSet::default(), warn };
    faults.add_repeated(&scp, &scp_text)?;
    faults.add_repeated(&text, &transcripts)?;
    let sounds = faults.sounds(&scp, &scp_text)?;
    let mut said: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (line, content) in lines(&transcripts) {
        let columns = fields(content);
        let (key, rest) = (columns[0], &columns[1..]);
        if faults.keys.contains(key) {
            continue;
        }
        let fault = if !sounds.contains_key(key) {
            format!("there is no '{key}' in {scp}")
        } else if rest.is_empty() {
            format!("the transcript of '{key}' is empty")
        } else if !rest.iter().any(|word| words.contains(*word)) {
            format!("the lexicon has no word of the transcript of '{key}'")
        } else {
            said.insert(key, rest.to_vec());
            continue;
        };
        faults.add(key, &format!("{text}, line {line}: {fault}"))?;
    }
    if said.is_empty() && faults.keys.is_empty() {
        return Err(kaldi_lang::Error::File { file: text, problem: "the file is empty".to_owned() }.into());
    }
    let with_lines: FxHashSet<&str> = lines(&transcripts).map(|(_, content)| fields(content)[0]).collect();
    for (line, content) in lines(&scp_text) {
        let key = fields(content)[0];
        if !with_lines.contains(key) && !faults.keys.contains(key) {
            faults.add(key, &format!("{scp}, line {line}: there is no '{key}' in {text}"))?;
        }
    }
    faults.check_rest(said.is_empty())?;
    speakers(&format!("{data}/utt2spk"))?;
    let with = |line: &dyn Fn(&str, &[&str]) -> String| -> Vec<String> {
        said.iter().map(|(key, words)| line(key, words)).collect()
    };
    let known = |key: &str, said: &[&str]| {
        let known = said.iter().copied().filter(|word| words.contains(*word));
        std::iter::once(key).chain(known).collect::<Vec<_>>().join(" ")
    };
    let contents = [
        with(&|key, _| key.to_owned()),
        with(&|key, _| format!("{key} {}", sounds[key])),
        with(&|key, said| format!("{key} {}", said.join(" "))),
        with(&known),
    ];
    for (name, lines) in FILES.into_iter().zip(contents) {
        write(&format!("{work}/{name}"), lines.iter().map(String::as_str))?;
    }
    Ok(())
}

/// Leaves out recordings of the folder `work` that have no features, with a warning for each: those that `lengths`, a table of
/// numbers of frames, does not have.
///
/// # Errors
/// A file cannot be read or written, or no recording is left.
pub fn keep_those_with_features(lengths_file: &str, work: &str, warn: &mut dyn FnMut(&str)) -> Result<()> {
    let there = lengths(lengths_file)?;
    let mut faults = Faults { skip: true, keys: FxHashSet::default(), warn };
    let wanted = plain_text::read(&format!("{work}/recordings"))?;
    for (_, key) in lines(&wanted).filter(|(_, key)| !there.contains_key(*key)) {
        faults.add(key, &format!("'{key}' has no features (log/readable.log, log/features.*.log)"))?;
    }
    faults.check_rest(there.is_empty())?;
    for name in FILES {
        let file = format!("{work}/{name}");
        let text = plain_text::read(&file)?;
        let kept = lines(&text).map(|(_, line)| line).filter(|line| there.contains_key(fields(line)[0]));
        write(&file, kept)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Data(tempfile::TempDir);

    impl Data {
        fn new() -> Data {
            let data = Data(tempfile::tempdir().unwrap());
            data.write("words.txt", b"<eps> 0\none 1\ntwo 2\n");
            data.write("wav.scp", b"a a.wav\nb sox b.mp3 -t wav - |\nc c.wav\n");
            data.write("text", b"a one two\nb two x\nc one\n");
            std::fs::create_dir(data.0.path().join("work")).unwrap();
            data
        }

        fn path(&self, name: &str) -> String {
            self.0.path().join(name).display().to_string()
        }

        fn write(&self, name: &str, content: &[u8]) {
            std::fs::write(self.path(name), content).unwrap();
        }

        fn read(&self, name: &str) -> String {
            std::fs::read_to_string(self.path(name)).unwrap()
        }

        fn check(&self, skip: bool) -> (Option<String>, Vec<String>) {
            let mut said = Vec::new();
            let mut warn = |sentence: &str| said.push(sentence.to_owned());
            let done = check(&self.path(""), &self.path("words.txt"), &self.path("work"), skip, &mut warn);
            (done.err().map(|error| error.to_string()), said)
        }
    }

    #[test]
    fn transcripts_keep_words_that_the_lexicon_lacks() {
        let data = Data::new();
        assert_eq!(data.check(false), (None, vec![]));
        assert_eq!(data.read("work/recordings"), "a\nb\nc\n");
        assert_eq!(data.read("work/text"), "a one two\nb two\nc one\n");
        assert_eq!(data.read("work/transcripts"), "a one two\nb two x\nc one\n");
        assert_eq!(data.read("work/wav.scp"), "a a.wav\nb sox b.mp3 -t wav - |\nc c.wav\n");
    }

    #[test]
    fn recordings_that_cannot_be_used_are_named_and_left_out() {
        let (text, scp) = ("a one two\nb two x\nc one\n", "a a.wav\nb b.wav\nc c.wav\n");
        for (text, scp, fault, left) in [
            ("a one\na two\nb two\nc one\n", scp, "text, line 2: 'a' has a line before", "b\nc\n"),
            ("a one\nb\nc one\n", scp, "text, line 2: the transcript of 'b' is empty", "a\nc\n"),
            (
                "a one\nb x y\nc one\n",
                scp,
                "text, line 2: the lexicon has no word of the transcript of 'b'",
                "a\nc\n",
            ),
            ("a one\nb one\nc one\nd one\n", scp, "text, line 4: there is no 'd' in", "a\nb\nc\n"),
            ("a one\nb two\n", scp, "wav.scp, line 3: there is no 'c' in", "a\nb\n"),
            (
                text,
                "a a.wav\nb b.wav\nc c.wav\nb b2.wav\n",
                "wav.scp, line 4: 'b' has a line before",
                "a\nc\n",
            ),
            (
                text,
                "a a.wav\nb\nc c.wav\n",
                "wav.scp, line 2: expected a file or a command after 'b'",
                "a\nc\n",
            ),
            (
                "a one\nx/y one\n",
                "a a.wav\nx/y b.wav\n",
                "wav.scp, line 2: 'x/y': keys must not have /",
                "a\n",
            ),
        ] {
            let data = Data::new();
            data.write("text", text.as_bytes());
            data.write("wav.scp", scp.as_bytes());
            let (error, said) = data.check(false);
            let error = error.unwrap();
            assert!(error.contains(fault) && error.contains("--skip-bad") && said.is_empty(), "{error}");
            let (error, said) = data.check(true);
            assert_eq!((error, data.read("work/recordings").as_str()), (None, left), "{said:?}");
            assert!(said[0].contains(fault) && said[1] == "1 recording: left out", "{said:?}");
        }
    }

    #[test]
    fn files_that_are_no_tables_are_named_with_their_line() {
        for (name, content, fault) in [
            ("text", &b"a one\nb \xff\n"[..], "text, line 2: this is not UTF-8"),
            ("wav.scp", b"a a.wav\n\xe9 b.wav\n", "wav.scp, line 2: this is not UTF-8"),
            ("utt2spk", b"a anna\nb\n", "utt2spk, line 2: expected a recording and its speaker, found 'b'"),
            (
                "words.txt",
                b"one 1\ntwo +2\n",
                "words.txt, line 2: expected a word and its number, found 'two +2'",
            ),
            ("text", b"", "text: the file is empty"),
            ("text", b"a\n", "no recording is left"),
        ] {
            let data = Data::new();
            data.write(name, content);
            let (error, _) = data.check(true);
            assert!(error.as_ref().is_some_and(|error| error.contains(fault)), "{error:?}");
        }
    }

    #[test]
    fn recordings_without_features_are_left_out() {
        let data = Data::new();
        data.check(false);
        data.write("lengths", b"a 100\nc 30\n");
        let mut said = Vec::new();
        let mut warn = |sentence: &str| said.push(sentence.to_owned());
        keep_those_with_features(&data.path("lengths"), &data.path("work"), &mut warn).unwrap();
        assert!(said[0].starts_with("'b' has no features"), "{said:?}");
        assert_eq!(data.read("work/recordings"), "a\nc\n");
        assert_eq!(data.read("work/transcripts"), "a one two\nc one\n");
        data.write("lengths", b"");
        let error =
            keep_those_with_features(&data.path("lengths"), &data.path("work"), &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "no recording is left");
    }
}
