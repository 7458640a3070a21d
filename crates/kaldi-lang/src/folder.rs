//! Kaldi's lang folders.

use std::path::Path;

use kaldi_fst::Fst;
use kaldi_fst::store::Symbols;
use kaldi_hmm::HmmTopology;
use kaldi_io::{KaldiReader, KaldiWriter, read_object};
use kaldi_tree::phone_sets::{parse_phones, read_roots, read_sets};

use crate::error::{Error, Result};
use crate::lang::{Lang, Pronunciation, TopologyKind};
use crate::plain_text::{fields, lines};
use crate::topology;

fn path_in(folder: &str, name: &str) -> String {
    Path::new(folder).join(name).to_string_lossy().into_owned()
}

fn joined(ids: &[i32], separator: &str) -> String {
    ids.iter().map(i32::to_string).collect::<Vec<_>>().join(separator)
}

/// Writes the files of a folder.
struct Folder<'a>(&'a str);

impl Folder<'_> {
    fn lines(&self, name: &str, lines: impl IntoIterator<Item = String>) -> Result<()> {
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        self.text(name, &text)
    }

    fn text(&self, name: &str, text: &str) -> Result<()> {
        let mut w = KaldiWriter::create(&path_in(self.0, name), false)?;
        w.write_str(text)?;
        Ok(w.finish()?)
    }

    fn symbols(&self, name: &str, symbols: &Symbols) -> Result<()> {
        self.lines(name, symbols.iter().map(|(name, number)| format!("{name} {number}")))
    }

    fn fst(&self, name: &str, fst: &Fst) -> Result<()> {
        Ok(kaldi_fst::store::write_fst(&path_in(self.0, name), fst)?)
    }

    fn make(&self) -> Result<()> {
        let phones = path_in(self.0, "phones");
        std::fs::create_dir_all(&phones)
            .map_err(|error| Error::file(&phones, format!("cannot make the folder: {error}")))
    }
}

impl Lang {
    /// Writes the folder. The lists with which Kaldi's scripts check a folder are written for topologies of Gaussian models;
    /// those of chain models have the list `align_lexicon.txt` with probabilities.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &str) -> Result<()> {
        let out = Folder(folder);
        out.make()?;
        out.symbols("phones.txt", &self.phones)?;
        out.symbols("words.txt", &self.words)?;
        let name = |id: i32| self.phones.name(id.into()).unwrap_or_default().to_owned();
        let word = |id: i32| self.words.name(id.into()).unwrap_or_default().to_owned();
        out.lines("oov.txt", [word(self.oov)])?;
        out.lines("oov.int", [self.oov.to_string()])?;
        out.text("L.fst.txt", &self.l_lines(false).text())?;
        out.text("L_disambig.fst.txt", &self.l_lines(true).text())?;
        out.fst("L.fst", &self.l_fst(false))?;
        out.fst("L_disambig.fst", &self.l_fst(true))?;
        match (&self.topology, self.kind) {
            (_, TopologyKind::Chain) => {
                out.text("topo", &topology::chain_text(&[&self.silence[..], &self.nonsilence].concat()))?;
            }
            (Some(topology), TopologyKind::Hmm) => {
                kaldi_io::write_object(&path_in(folder, "topo"), false, topology)?
            }
            (None, TopologyKind::Hmm) => {}
        }
        out.lines("phones/sets.int", self.sets.iter().map(|set| joined(set, " ")))?;
        out.lines(
            "phones/roots.int",
            self.roots.iter().map(|root| {
                let [shared, split] = [("shared", root.shared), ("split", root.split)]
                    .map(|(name, is)| if is { name.to_owned() } else { format!("not-{name}") });
                format!("{shared} {split} {}", joined(&root.phones, " "))
            }),
        )?;
        out.lines("phones/extra_questions.int", self.extra_questions.iter().map(|set| joined(set, " ")))?;
        out.lines("phones/disambig.int", self.disambiguation.iter().map(i32::to_string))?;
        if let Some(places) = &self.word_boundary {
            out.lines("phones/word_boundary.int", places.iter().map(|(id, place)| format!("{id} {place}")))?;
            out.lines(
                "phones/word_boundary.txt",
                places.iter().map(|(id, place)| format!("{} {place}", name(*id))),
            )?;
        }
        let lists: [(&str, &[i32]); 5] = [
            ("silence", &self.silence),
            ("nonsilence", &self.nonsilence),
            ("optional_silence", &[self.optional_silence]),
            ("context_indep", &self.context_independent),
            ("disambig", &self.disambiguation),
        ];
        for (list, ids) in lists {
            out.lines(&format!("phones/{list}.csl"), [joined(ids, ":")])?;
            out.lines(&format!("phones/{list}.int"), ids.iter().map(i32::to_string))?;
            out.lines(&format!("phones/{list}.txt"), ids.iter().map(|&id| name(id)))?;
        }
        let backoff = self.disambiguation.first().copied().unwrap_or_default();
        out.lines("phones/wdisambig_phones.int", [backoff.to_string()])?;
        out.lines("phones/wdisambig_words.int", [self.words.number("#0").unwrap_or_default().to_string()])?;
        out.lines("phones/wdisambig.txt", ["#0".to_owned()])?;
        self.write_pronunciations(&out)
    }

    fn write_pronunciations(&self, out: &Folder) -> Result<()> {
        let name = |id: &i32| self.phones.name((*id).into()).unwrap_or_default().to_owned();
        let word = |id: i32| self.words.name(id.into()).unwrap_or_default();
        let names = |of: &Pronunciation| of.phones.iter().map(name).collect::<Vec<_>>().join(" ");
        match self.kind {
            TopologyKind::Chain => {
                let line = |of: &Pronunciation| {
                    let probability = kaldi_io::text::format_g(of.probability, 7);
                    format!("{} {probability} {}", word(of.word), names(of))
                };
                out.lines("phones/align_lexicon.txt", self.pronunciations.iter().map(line))?;
            }
            TopologyKind::Hmm => {
                let silence = self.optional_silence;
                let first = format!("<eps> {}", name(&silence));
                let line = |of: &Pronunciation| format!("{0} {0} {1}", word(of.word), names(of));
                let all = [first].into_iter().chain(self.pronunciations.iter().map(line));
                out.lines("phones/align_lexicon.txt", all)?;
            }
        }
        let line = |of: &Pronunciation| format!("{0} {0} {1}", of.word, joined(&of.phones, " "));
        let first = format!("0 0 {}", self.optional_silence);
        out.lines("phones/align_lexicon.int", [first].into_iter().chain(self.pronunciations.iter().map(line)))
    }

    /// Writes the files for a new graph of a model, for a language [of its phones](Lang::for_phones).
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_for_model(&self, folder: &str) -> Result<()> {
        let out = Folder(folder);
        out.make()?;
        out.symbols("phones.txt", &self.phones)?;
        out.symbols("words.txt", &self.words)?;
        out.text("L_disambig.fst.txt", &self.l_lines(true).text())?;
        out.lines("phones/disambig.int", self.disambiguation.iter().map(i32::to_string))?;
        out.lines("phones/optional_silence.int", [self.optional_silence.to_string()])
    }

    /// Reads a folder, also one of Kaldi's scripts. Pronunciations come from `phones/align_lexicon.int` if it is there; their
    /// probabilities and silence are those of L.
    ///
    /// # Errors
    /// A file that training needs is missing or makes no sense.
    pub fn read(folder: &str) -> Result<Lang> {
        let file = |name: &str| path_in(folder, name);
        let has = |name: &str| Path::new(&file(name)).exists();
        let phones = Symbols::load(&file("phones.txt"))?;
        let words = Symbols::load(&file("words.txt"))?;
        let topology: HmmTopology = read_object(&file("topo"))?;
        let kind = if topology.is_hmm() { TopologyKind::Hmm } else { TopologyKind::Chain };
        let sets = read_by(&file("phones/sets.int"), read_sets)?;
        let roots = read_by(&file("phones/roots.int"), read_roots)?;
        let extra_questions = match has("phones/extra_questions.int") {
            true => read_by(&file("phones/extra_questions.int"), read_sets)?,
            false => Vec::new(),
        };
        let silence = list(&file("phones/silence.csl"))?;
        let optional = list(&file("phones/optional_silence.int"))?;
        let Some(&optional_silence) = optional.first() else {
            return Err(Error::file(
                &file("phones/optional_silence.int"),
                "expected the number of a phone, found none",
            ));
        };
        let context_independent = match has("phones/context_indep.csl") {
            true => list(&file("phones/context_indep.csl"))?,
            false => silence.clone(),
        };
        let nonsilence = topology.phones().iter().copied().filter(|phone| !silence.contains(phone)).collect();
        let word_boundary = match has("phones/word_boundary.int") {
            true => Some(read_places(&file("phones/word_boundary.int"))?),
            false => None,
        };
        let pronunciations = match has("phones/align_lexicon.int") {
            true => read_pronunciations(&file("phones/align_lexicon.int"))?,
            false => Vec::new(),
        };
        let oov_file = file("oov.int");
        let oov = crate::plain_text::read(&oov_file)?.trim().parse();
        let oov = oov.map_err(|_| Error::file(&oov_file, "expected the number of a word"))?;
        if words.name(i64::from(oov)).is_none() {
            let message = format!("expected a word with the number {oov} (that of oov.int), found none");
            return Err(Error::file(&file("words.txt"), message));
        }
        if let Some(phone) = topology.phones().iter().find(|phone| phones.name(i64::from(**phone)).is_none())
        {
            let message = format!("expected a phone with the number {phone}, which topo has, found none");
            return Err(Error::file(&file("phones.txt"), message));
        }
        let mut l = Vec::new();
        for name in ["L.fst", "L_disambig.fst"] {
            let mut fst = kaldi_fst::store::read_fst(&file(name))?;
            kaldi_fst::ops::sort_arcs(&mut fst, kaldi_fst::ops::Side::Output);
            l.push(fst);
        }
        Ok(Lang {
            phones,
            words,
            pronunciations,
            silence,
            nonsilence,
            optional_silence,
            disambiguation: list(&file("phones/disambig.int"))?,
            context_independent,
            sets,
            roots,
            extra_questions,
            word_boundary,
            oov,
            kind,
            topology: Some(topology),
            silence_probability: 0.5,
            silence_at_ends: None,
            l: l.try_into().ok().map(Box::new),
        })
    }
}

fn read_by<T>(file: &str, read: impl FnOnce(&mut KaldiReader) -> kaldi_tree::Result<T>) -> Result<T> {
    let mut r = KaldiReader::open_raw(file)?;
    let value = read(&mut r)?;
    r.close()?;
    Ok(value)
}

/// Numbers of phones between colons or in lines, sorted.
fn list(file: &str) -> Result<Vec<i32>> {
    let text = crate::plain_text::read(file)?;
    let all: Vec<&str> = text.split_ascii_whitespace().collect();
    parse_phones(&all.join(":")).map_err(|error| Error::file(file, error.to_string()))
}

fn read_places(file: &str) -> Result<Vec<(i32, String)>> {
    let text = crate::plain_text::read(file)?;
    let place = |(number, line): (usize, &str)| match fields(line)[..] {
        [phone, place] if phone.parse::<i32>().is_ok() => {
            Ok((phone.parse().unwrap_or_default(), place.to_owned()))
        }
        _ => {
            Err(Error::line(file, number, format!("expected a phone and its place in words, found '{line}'")))
        }
    };
    lines(&text).map(place).collect()
}

/// Lines of a word, again a word, and phones. Lines of silence, whose word is 0, are left out.
fn read_pronunciations(file: &str) -> Result<Vec<Pronunciation>> {
    let text = crate::plain_text::read(file)?;
    let mut pronunciations = Vec::new();
    for (number, line) in lines(&text) {
        let numbers: Option<Vec<i32>> = fields(line).iter().map(|field| field.parse().ok()).collect();
        let Some([word, _, phones @ ..]) = numbers.as_deref() else {
            return Err(Error::line(file, number, format!("expected two words and phones, found '{line}'")));
        };
        if *word != 0 {
            let phones = phones.to_vec();
            pronunciations.push(Pronunciation {
                word: *word,
                probability: 1.0,
                silence: None,
                phones,
                number: 0,
            });
        }
    }
    Ok(pronunciations)
}
