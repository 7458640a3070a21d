//! `compile-questions`: makes the questions that a tree may ask from sets of phones.

use anyhow::bail;
use kaldi_hmm::HmmTopology;
use kaldi_io::{read_object, write_object};
use kaldi_tree::Questions;
use kaldi_tree::phone_sets::read_sets;
use kaldi_tree::questions::most_pdf_classes;
use nnet3::{messages, trees};
/// Compile questions.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n compile-questions topo questions.txt questions.qst")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Context window size [must match acc-tree-stats].
    #[arg(long, default_value_t = 3)]
    context_width: i32,
    /// Central position in phone context window [must match acc-tree-stats]
    #[arg(long, default_value_t = 1)]
    central_position: i32,
    /// Number of iters of refining questions at each node.  >0 --> questions refined
    #[arg(long, default_value_t = 0)]
    num_iters_refine: i32,
    topo: String,
    questions_text_file: String,
    questions_out: String,
}

/// Warns if not all phones are asked about; an error if there are more in the questions.
fn check_phones(sets: &[Vec<i32>], topology: &HmmTopology) -> anyhow::Result<()> {
    let mut asked: Vec<i32> = sets.iter().flatten().copied().collect();
    asked.sort_unstable();
    asked.dedup();
    let phones = topology.phones();
    if asked != phones {
        messages::warn(&format!(
            "phones seen in questions differ from those in topology: {asked:?} vs. {phones:?}"
        ));
    }
    if let Some(phone) = asked.iter().find(|phone| phones.binary_search(phone).is_err()) {
        bail!("the questions have phones that the topology lacks, such as {phone}");
    }
    Ok(())
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (width, _) = trees::check_context(options.context_width, options.central_position)?;
    let topology: HmmTopology = read_object(&options.topo)?;
    let mut sets = trees::read_text(&options.questions_text_file, read_sets)?;
    let count = sets.len();
    sets.sort_unstable();
    sets.dedup();
    if sets.len() != count {
        let (more, file) = (count - sets.len(), &options.questions_text_file);
        messages::warn(&format!("{more} duplicate questions present in {file}"));
    }
    check_phones(&sets, &topology)?;
    let classes = most_pdf_classes(&topology);
    messages::log(&format!("Max # pdf classes is {classes}"));
    for position in 0..width {
        messages::log(&format!("Setting questions for phonetic-context position {position}"));
    }
    let last = classes - 1;
    messages::log(&format!("Setting questions for hmm-position [hmm-position ranges from 0 to {last}]"));
    let questions = Questions::about_phones(&sets, &topology, width, options.num_iters_refine);
    write_object(&options.questions_out, options.mode.binary, &questions)?;
    messages::log(&format!("Wrote questions to {}", options.questions_out));
    Ok(0)
}
