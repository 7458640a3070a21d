//! Systems in folders, as Kaldi's training scripts write them and the Montreal Forced Aligner packs them.

use std::collections::BTreeMap;
use std::path::Path;

use kaldi_fst::store::Symbols;
use kaldi_gmm::AmDiagGmm;
use kaldi_hmm::TransitionModel;
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, read_object, write_object};

use crate::error::{Error, Result};
use crate::features::{FeatureKind, Normalized};
use crate::network::Model;
use crate::system::{AlignOptions, System};

fn path_in(folder: &str, name: &str) -> String {
    Path::new(folder).join(name).to_string_lossy().into_owned()
}

fn has(folder: &str, name: &str) -> bool {
    Path::new(folder).join(name).exists()
}

fn write_text(folder: &str, name: &str, text: &str) -> Result<()> {
    let mut w = KaldiWriter::create(&path_in(folder, name), false)?;
    w.write_str(text)?;
    Ok(w.finish()?)
}

fn write_model(file: &str, transitions: &TransitionModel, gmms: &AmDiagGmm) -> Result<()> {
    let mut w = KaldiWriter::create(file, true)?;
    transitions.write(&mut w)?;
    gmms.write(&mut w)?;
    Ok(w.finish()?)
}

fn read_model(file: &str) -> Result<(TransitionModel, AmDiagGmm)> {
    let mut r = KaldiReader::open(file)?;
    let (transitions, gmms) = (TransitionModel::read(&mut r)?, AmDiagGmm::read(&mut r)?);
    r.finish()?;
    let fits = gmms.check_transitions(&transitions);
    fits.map_err(|error| Error::File { file: file.to_owned(), problem: error.to_string() })?;
    Ok((transitions, gmms))
}

/// Checks that phones have the numbers of a model's folder, if that has `phones.txt`. Symbols like `#0` may differ.
///
/// # Errors
/// A phone is missing on one side, or has another number; or the file cannot be read.
pub fn check_phones(folder: &str, phones: &Symbols) -> Result<()> {
    if !has(folder, "phones.txt") {
        return Ok(());
    }
    let file = path_in(folder, "phones.txt");
    let of_model = Symbols::load(&file)?;
    let numbers = |symbols: &Symbols| -> BTreeMap<String, i64> {
        let phones = symbols.iter().filter(|(name, _)| !name.starts_with('#'));
        phones.map(|(name, number)| (name.to_owned(), number)).collect()
    };
    let (expected, found) = (numbers(&of_model), numbers(phones));
    let Some(name) = expected.keys().chain(found.keys()).find(|name| expected.get(*name) != found.get(*name))
    else {
        return Ok(());
    };
    let number = |numbers: &BTreeMap<String, i64>| {
        numbers.get(name).map_or("no number".to_owned(), |number| format!("number {number}"))
    };
    let problem = format!(
        "the phones of the language are not those of the model: '{name}' has {} in the language, and {} here",
        number(&found),
        number(&expected)
    );
    Err(Error::File { file, problem })
}

impl System {
    /// Writes a folder that Kaldi's scripts align and train with: `final.mdl`, `tree`, `phones.txt`, options of features, and
    /// if there are such `final.alimdl`, `final.mat` and `full.mat`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save(&self, folder: &str, phones: &Symbols) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|error| Error::File {
            file: folder.to_owned(),
            problem: format!("cannot make the folder: {error}"),
        })?;
        let Model { transitions, tree, gmms } = &self.model;
        write_object(&path_in(folder, "tree"), true, tree)?;
        let text: String = phones.iter().map(|(name, number)| format!("{name} {number}\n")).collect();
        write_text(folder, "phones.txt", &text)?;
        let norm = match self.normalized {
            Normalized::Nothing => "--norm-means=false --norm-vars=false\n",
            Normalized::Means => "\n",
            Normalized::MeansAndVariances => "--norm-vars=true\n",
        };
        write_text(folder, "cmvn_opts", norm)?;
        match &self.features {
            FeatureKind::Deltas { order, window } => {
                let usual = FeatureKind::default() == self.features;
                let text = if usual {
                    String::new()
                } else {
                    format!("--delta-order={order} --delta-window={window}")
                };
                write_text(folder, "delta_opts", &(text + "\n"))?;
            }
            FeatureKind::Spliced { left, right, lda } => {
                write_text(
                    folder,
                    "splice_opts",
                    &format!("--left-context={left} --right-context={right}\n"),
                )?;
                write_object(&path_in(folder, "final.mat"), true, lda)?;
                write_object(&path_in(folder, "lda.mat"), true, lda)?;
            }
        }
        if let Some(full) = &self.full_lda {
            write_object(&path_in(folder, "full.mat"), true, full)?;
        }
        if let Some(independent) = &self.independent {
            write_model(&path_in(folder, "final.alimdl"), transitions, independent)?;
        }
        write_model(&path_in(folder, "final.mdl"), transitions, gmms)
    }

    /// Reads a folder of Kaldi's scripts, of [`save`](Self::save), or of an unpacked acoustic model of the Montreal Forced
    /// Aligner.
    ///
    /// # Errors
    /// A file is missing, makes no sense or does not fit the others.
    pub fn load(folder: &str) -> Result<System> {
        let file = |name: &str| path_in(folder, name);
        let (transitions, gmms) = read_model(&file("final.mdl"))?;
        let tree = read_object(&file("tree"))?;
        let independent = match has(folder, "final.alimdl") {
            true => {
                let (other, independent) = read_model(&file("final.alimdl"))?;
                let same = independent.pdfs().len() == gmms.pdfs().len() && independent.dim() == gmms.dim();
                if other.states() != transitions.states() || !same {
                    let problem = "it does not belong to final.mdl: pdfs or transitions differ".to_owned();
                    return Err(Error::File { file: file("final.alimdl"), problem });
                }
                Some(independent)
            }
            false => None,
        };
        let matrix = ["final.mat", "lda.mat"].into_iter().find(|name| has(folder, name));
        let matrix = matrix.map(|name| Ok::<_, Error>((name, finite_matrix(&file(name))?))).transpose()?;
        // (The Montreal Forced Aligner packs lda.mat beside models without it, too.)
        let features = match matrix.filter(|(name, lda)| *name != "lda.mat" || lda.rows == gmms.dim()) {
            Some((_, lda)) => {
                let (left, right) = splice(folder, lda.cols)?;
                FeatureKind::Spliced { left, right, lda }
            }
            None => {
                let (mut order, mut window) = (2, 2);
                for (name, value) in options(folder, "delta_opts")? {
                    match (name.as_str(), value.parse()) {
                        ("delta-order", Ok(number)) => order = number,
                        ("delta-window", Ok(number)) => window = number,
                        _ => return Err(unknown(folder, "delta_opts", &name, &value)),
                    }
                }
                FeatureKind::Deltas { order, window }
            }
        };
        let (mut means, mut variances) = (true, false);
        for (name, value) in options(folder, "cmvn_opts")? {
            match (name.as_str(), value.as_str()) {
                ("norm-vars", "true" | "false") => variances = value == "true",
                ("norm-means", "true" | "false") => means = value == "true",
                _ => return Err(unknown(folder, "cmvn_opts", &name, &value)),
            }
        }
        let normalized = match (means, variances) {
            (true, true) => Normalized::MeansAndVariances,
            (true, false) => Normalized::Means,
            (false, false) => Normalized::Nothing,
            (false, true) => {
                let problem = "--norm-means=false and --norm-vars=true do not go together".to_owned();
                return Err(Error::File { file: file("cmvn_opts"), problem });
            }
        };
        let full_lda = has(folder, "full.mat").then(|| finite_matrix(&file("full.mat"))).transpose()?;
        let model = Model { transitions, tree, gmms };
        let system =
            System { model, independent, features, full_lda, normalized, options: AlignOptions::default() };
        system.check(folder)?;
        Ok(system)
    }

    fn check(&self, folder: &str) -> Result<()> {
        let dim = self.model.gmms.dim();
        let made = match &self.features {
            FeatureKind::Deltas { order, .. } => dim / (*order as usize + 1) * (*order as usize + 1),
            FeatureKind::Spliced { lda, .. } => lda.rows,
        };
        match made == dim {
            true => Ok(()),
            false => Err(Error::File {
                file: path_in(folder, "final.mdl"),
                problem: format!(
                    "the model is for features of dimension {dim}, those of the folder have {made}"
                ),
            }),
        }
    }
}

/// Reads a matrix that makes features.
fn finite_matrix(file: &str) -> Result<DenseMatrix<f32>> {
    let matrix: DenseMatrix<f32> = read_matrix(file)?;
    match matrix.data.iter().position(|value| !value.is_finite()) {
        None => Ok(matrix),
        Some(place) => {
            let (row, col) = (place / matrix.cols, place % matrix.cols);
            let problem = format!("row {row}, column {col} is {}, expected a number", matrix.data[place]);
            Err(Error::File { file: file.to_owned(), problem })
        }
    }
}

/// Cepstra that models have, if the options of splicing are unknown.
const CEPSTRA: usize = 13;

/// Frames on each side of a frame. Without a file, they follow from the number of columns of the matrix.
fn splice(folder: &str, cols: usize) -> Result<(usize, usize)> {
    let (mut left, mut right) = (4, 4);
    let given = options(folder, "splice_opts")?;
    if given.is_empty() && cols.is_multiple_of(CEPSTRA) && (cols / CEPSTRA) % 2 == 1 {
        return Ok((cols / CEPSTRA / 2, cols / CEPSTRA / 2));
    }
    // Other numbers of cepstra: the context that is a divisor, the usual ones first.
    let divides = |context: &usize| cols.is_multiple_of(2 * context + 1);
    if given.is_empty()
        && let Some(context) = [4, 3, 5, 2, 6, 7, 1].into_iter().find(divides)
    {
        return Ok((context, context));
    }
    for (name, value) in given {
        match (name.as_str(), value.parse()) {
            ("left-context", Ok(number)) => left = number,
            ("right-context", Ok(number)) => right = number,
            _ => return Err(unknown(folder, "splice_opts", &name, &value)),
        }
    }
    match cols % (left + 1 + right) {
        0 => Ok((left, right)),
        _ => Err(Error::File {
            file: path_in(folder, "splice_opts"),
            problem: format!(
                "{} frames side by side do not have {cols} elements, as the matrix expects",
                left + 1 + right
            ),
        }),
    }
}

/// The options in a file, `--name=value` between blanks; none if there is no file.
fn options(folder: &str, name: &str) -> Result<Vec<(String, String)>> {
    if !has(folder, name) {
        return Ok(Vec::new());
    }
    let text = kaldi_lang::plain_text::read(&path_in(folder, name))?;
    let option = |word: &str| match word.strip_prefix("--").and_then(|option| option.split_once('=')) {
        Some((option, value)) => Ok((option.to_owned(), value.to_owned())),
        None => Err(Error::File {
            file: path_in(folder, name),
            problem: format!("expected options '--name=value', found '{word}'"),
        }),
    };
    text.split_ascii_whitespace().map(option).collect()
}

fn unknown(folder: &str, file: &str, name: &str, value: &str) -> Error {
    let problem = format!("the option --{name}={value} cannot be used here");
    Error::File { file: path_in(folder, file), problem }
}
