//! Places of a model's parts: in a folder as vosk has it (newer or older form), or at paths that a caller gives.

use std::path::Path;

use crate::config::ivector::IvectorArgs;
use crate::config::recognizer::ModelArgs;
use crate::config::{self, read_file};
use crate::error::{Error, Result};
use crate::first_half::PhraseFiles;
use crate::model::other_kinds;
use crate::notice::Notice;
use crate::options::Files;

/// Largest count of i-vector statistics from one utterance: vosk's setting.
const MAX_COUNT: f32 = 100.0;

/// The names of the pieces in a folder of one form.
struct Layout {
    mdl: &'static str,
    /// Prefixes of the files with options of features, of the graph, and of the classes of phones.
    conf: &'static str,
    graph: &'static str,
    phones: &'static str,
    global_cmvn: &'static str,
    /// File with the options of search, network and endpoints, if the folder has it.
    settings: Option<&'static str>,
}

const NESTED: Layout = Layout {
    mdl: "am/final.mdl",
    conf: "conf/",
    graph: "graph/",
    phones: "graph/phones/",
    global_cmvn: "am/global_cmvn.stats",
    settings: Some("conf/model.conf"),
};

/// The older form, in which all files except for the i-vectors' are in one folder.
const FLAT: Layout = Layout {
    mdl: "final.mdl",
    conf: "",
    graph: "",
    phones: "",
    global_cmvn: "global_cmvn.stats",
    settings: None,
};

/// Options of models without a file of options, as in vosk.
const SETTINGS: [&str; 9] = [
    "--max-active=7000",
    "--beam=13.0",
    "--lattice-beam=6.0",
    "--acoustic-scale=1.0",
    "--frame-subsampling-factor=3",
    "--endpoint.silence-phones=1:2:3:4:5:6:7:8:9:10",
    "--endpoint.rule2.min-trailing-silence=0.5",
    "--endpoint.rule3.min-trailing-silence=1.0",
    "--endpoint.rule4.min-trailing-silence=2.0",
];

pub(super) enum GraphFiles {
    /// One file, maybe with a first half beside it for phrases.
    Whole(String, Option<PhraseFiles>),
    Pair {
        hcl: String,
        grammar: String,
        disambiguation: String,
    },
}

impl GraphFiles {
    /// Returns the file with words as output labels.
    pub fn file_of_words(&self) -> &str {
        match self {
            GraphFiles::Whole(file, _) => file,
            GraphFiles::Pair { grammar, .. } => grammar,
        }
    }
}

/// Base features, with the name of the file of their options.
pub(super) enum Base {
    Mfcc(String),
    Fbank(String),
    Plp(String),
}

impl Base {
    /// Returns the first existing file of the three (for MFCC, filterbank and PLP features).
    fn of([mfcc, fbank, plp]: [Option<String>; 3]) -> Option<Base> {
        mfcc.map(Base::Mfcc).or_else(|| fbank.map(Base::Fbank)).or_else(|| plp.map(Base::Plp))
    }
}

/// Names of files, and the options that were read to find them. The name of an optional, absent file is `None`.
pub(super) struct Pieces {
    pub mdl: String,
    pub graph: GraphFiles,
    pub words: Option<String>,
    pub base: Base,
    pub pitch: Option<String>,
    pub settings: ModelArgs,
    pub ivectors: Option<IvectorArgs>,
    pub global_cmvn: Option<String>,
    /// The options of a running mean, in the place of the mean of the global statistics.
    pub online_cmvn: Option<String>,
    pub word_boundary: Option<String>,
    /// The options of the silence around sound.
    pub edges: Option<String>,
    /// Bands that sound may lack.
    pub bands: Option<String>,
}

/// Finds the acoustic model of a folder, which says where the other files are.
fn layout(folder: &str) -> Result<(Layout, String)> {
    let found = [NESTED, FLAT].into_iter().find_map(|layout| {
        let mdl = format!("{folder}/{}", layout.mdl);
        Path::new(&mdl).exists().then_some((layout, mdl))
    });
    found.ok_or_else(|| Error::Incomplete {
        folder: folder.to_owned(),
        lacks: format!("no {}, nor {}{}", NESTED.mdl, FLAT.mdl, other_kinds::of_folder(folder)),
    })
}

/// Returns the file of the acoustic model in the folder of a model.
///
/// # Errors
/// The folder has none.
pub fn acoustic_model(folder: impl AsRef<Path>) -> Result<String> {
    let folder = folder.as_ref().to_string_lossy();
    needs_folder(&folder)?;
    layout(&folder).map(|(_, mdl)| mdl)
}

/// Checks that the folder of a model is there.
///
/// # Errors
/// There is nothing of this name, or a file.
pub fn needs_folder(folder: &str) -> Result<()> {
    let path = Path::new(folder);
    match path.is_dir() {
        true => Ok(()),
        false if path.exists() => Err(Error::NotAFolder(folder.to_owned())),
        false => Err(Error::NoFolder(folder.to_owned())),
    }
}

impl Pieces {
    /// Takes the files that a caller gives.
    pub fn of_files(files: &Files) -> Result<Pieces> {
        let Files { acoustic, graph, words, mfcc, fbank, plp, pitch, settings, ivectors, word_boundary } =
            files.clone();
        Ok(Pieces {
            mdl: acoustic.ok_or(Error::NoFile("acoustic model"))?,
            graph: GraphFiles::Whole(graph.ok_or(Error::NoFile("decoding graph"))?, None),
            words,
            base: Base::of([mfcc, fbank, plp]).unwrap_or(Base::Mfcc(String::new())),
            pitch,
            settings: read_file(settings.as_deref().unwrap_or_default())?,
            ivectors: ivectors.as_deref().map(read_file).transpose()?,
            global_cmvn: None,
            online_cmvn: None,
            word_boundary,
            edges: None,
            bands: None,
        })
    }

    /// Finds the pieces of a folder with `am/final.mdl`, `conf`, `graph` and optionally `ivector`, or with `final.mdl`
    /// and the other files beside it. Files in `given` replace the folder's.
    pub fn of_folder(folder: &str, given: &Files, notices: &mut Vec<Notice>) -> Result<Pieces> {
        needs_folder(folder)?;
        let incomplete = |lacks: String| Error::Incomplete { folder: folder.to_owned(), lacks };
        let path = |name: &str| format!("{folder}/{name}");
        let there = |name: &str| Path::new(&path(name)).exists().then(|| path(name));
        let (layout, mdl) = layout(folder)?;
        let Layout { conf, graph, phones, .. } = layout;
        let needed = |name: &str| there(name).ok_or_else(|| incomplete(format!("no {name}")));
        let or = |given: &Option<String>, name: &str| given.clone().or_else(|| there(name));
        notices.extend(["rescore", "rnnlm"].into_iter().filter_map(there).map(Notice::Unused));
        let (whole, hcl) = (format!("{graph}HCLG.fst"), format!("{graph}HCLr.fst"));
        let of_phrases = |name: &str| format!("{graph}phrases/{name}");
        let graph_files = match (or(&given.graph, &whole), there(&hcl)) {
            (Some(whole), _) => {
                let hcl = there(&of_phrases("HCLr.fst"));
                let phrases = hcl.map(|hcl| -> Result<PhraseFiles> {
                    let words = needed(&of_phrases("words.txt"))?;
                    Ok(PhraseFiles { hcl, words, disambiguation: needed(&of_phrases("disambig_tid.int"))? })
                });
                GraphFiles::Whole(whole, phrases.transpose()?)
            }
            (None, Some(hcl)) => GraphFiles::Pair {
                hcl,
                grammar: needed(&format!("{graph}Gr.fst"))?,
                disambiguation: needed(&format!("{graph}disambig_tid.int"))?,
            },
            (None, None) => {
                let remark = other_kinds::of_folder(folder);
                return Err(incomplete(format!("neither {whole} nor {hcl}{remark}")));
            }
        };
        let configs = [
            or(&given.mfcc, &format!("{conf}mfcc.conf")),
            or(&given.fbank, &format!("{conf}fbank.conf")),
            or(&given.plp, &format!("{conf}plp.conf")),
        ];
        let lacks = || format!("neither {conf}mfcc.conf nor {conf}fbank.conf nor {conf}plp.conf");
        let base = Base::of(configs).ok_or_else(|| incomplete(lacks()))?;
        // vosk's name, or the name that Kaldi's scripts use.
        let pitch = or(&given.pitch, &format!("{conf}pitch.conf"))
            .or_else(|| there(&format!("{conf}online_pitch.conf")));
        let settings = match (&given.settings, layout.settings) {
            (None, None) => config::given("options of models whose folder has none", &SETTINGS)?,
            (None, Some(name)) => read_file(&needed(name)?)?,
            (Some(named), _) => read_file(named)?,
        };
        let ivectors = match (&given.ivectors, there("ivector")) {
            (Some(named), _) => Some(read_file(named)?),
            (None, None) => None,
            (None, Some(_)) => Some(IvectorArgs {
                lda_matrix: needed("ivector/final.mat")?,
                global_cmvn_stats: needed("ivector/global_cmvn.stats")?,
                cmvn_config: needed("ivector/online_cmvn.conf")?,
                splice_config: needed("ivector/splice.conf")?,
                diag_ubm: needed("ivector/final.dubm")?,
                ivector_extractor: needed("ivector/final.ie")?,
                max_count: MAX_COUNT,
                ..config::given("ivector", &[])?
            }),
        };
        Ok(Pieces {
            mdl,
            graph: graph_files,
            words: or(&given.words, &format!("{graph}words.txt")),
            base,
            pitch,
            settings,
            ivectors,
            global_cmvn: there(layout.global_cmvn),
            online_cmvn: there(&format!("{conf}online_cmvn.conf")),
            word_boundary: or(&given.word_boundary, &format!("{phones}word_boundary.int")),
            edges: there(&format!("{conf}edges.conf")),
            bands: there(&format!("{conf}bands.conf")),
        })
    }
}
