//! `nnet3-recover`: a model folder → the tree, lexicon and phones that its graph was made of.

use anyhow::{Context, Result};
use kaldi_io::{KaldiWriter, write_object};
use nnet3::messages;
use nnet3_online::lexicon::Lexicon;
use nnet3_online::model_graph::ModelGraph;

/// Recover the tree, the lexicon and the phones of a recogniser from its graph, so that a new graph can be made.
///
/// Published models have neither a tree nor a lexicon. The folder has vosk's form (see nnet3-transcribe) and
/// graph/phones/word_boundary.int. The output folder, which must exist, gets five files. tree: a decision tree of windows of two phones,
/// as chain models have them. lexicon.txt: words and phones with their places in a word, as nnet3-lexicon prints them. phones.txt: names
/// and numbers of phones. silence.txt: the phone between words. guessed.txt: pairs of a phone and the phone before it (or <eps>) that the
/// graph lacks. The tree gives them the pdfs of the most similar pair. A tree that asks for more than the phone before is an error.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: nnet3-recover model-ko recovered")]
pub struct Options {
    #[arg(value_name = "model-dir")]
    folder: String,
    #[arg(value_name = "out-dir")]
    out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model = ModelGraph::read(&options.folder)?;
    if let Some(phone) = model.nameless {
        messages::warn(&format!(
            "{}/graph/phones.txt belongs to another model, as it does not name phone {phone}: phones are p and a number",
            options.folder
        ));
    }
    let context = model.context()?;
    let silence = context.silence.context("the graph has no phone outside of words (silence)")?;
    let lexicon = Lexicon::of(&model, true)?;
    write_object(&format!("{}/tree", options.out), true, &context.tree.tree)?;
    let write = |name: &str, lines: &mut dyn Iterator<Item = String>| -> Result<()> {
        let mut w = KaldiWriter::create(&format!("{}/{name}", options.out), false)?;
        for line in lines {
            w.write_str(&format!("{line}\n"))?;
        }
        Ok(w.finish()?)
    };
    let name = |phone: i32| if phone == 0 { "<eps>" } else { model.phone_name(phone) };
    let phones = [0].into_iter().chain(model.transitions.topology().phones().iter().copied());
    write("phones.txt", &mut phones.map(|phone| format!("{} {phone}", name(phone))))?;
    write(
        "lexicon.txt",
        &mut lexicon.entries.iter().map(|(word, phones)| format!("{word} {}", phones.join(" "))),
    )?;
    write("silence.txt", &mut [name(silence).to_owned()].into_iter())?;
    let guessed = &context.tree.guessed;
    write(
        "guessed.txt",
        &mut guessed.iter().map(|pair| format!("{} {}", name(pair.left), name(pair.phone))),
    )?;
    messages::log(&format!(
        "{} pronunciations, {} pdfs; the graph lacks {} pairs of phones",
        lexicon.entries.len(),
        context.tree.tree.num_pdfs(),
        guessed.len()
    ));
    Ok(0)
}
