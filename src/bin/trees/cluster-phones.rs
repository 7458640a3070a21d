//! `cluster-phones`: clusters phones into questions or classes.

use anyhow::{Context, bail};
use kaldi_io::text::split_integers;
use kaldi_io::{KaldiWriter, read_object};
use kaldi_tree::phone_sets::{read_sets, write_lists};
use kaldi_tree::{Gauss, TreeStats, automatic};
use nnet3::{messages, trees};
use nnet3_core::c_rand::CRand;
/// Cluster phones (or sets of phones) into sets for various purposes.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n cluster-phones 1.tacc phonesets.txt questions.txt")]
pub struct Options {
    /// Central position in context window [must match acc-tree-stats]
    #[arg(long, default_value_t = 1)]
    central_position: i32,
    /// Does not have any effect-- included for scripting convenience.
    #[arg(long, default_value_t = 3)]
    context_width: i32,
    /// Colon-separated list of HMM positions to consider [Default = 1: just central position for 3-state models].
    #[arg(long, default_value = "1")]
    pdf_class_list: String,
    /// Mode of operation: "questions"->sets suitable for decision trees; "k-means"->k-means algorithm, output k classes (set
    /// num-classes options)
    #[arg(long, default_value = "questions")]
    mode: String,
    /// For k-means mode, number of classes.
    #[arg(long, default_value_t = -1)]
    num_classes: i32,
    tree_stats_in: String,
    phone_sets_in: String,
    clustered_phones_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let Ok(central) = usize::try_from(options.central_position) else {
        bail!("--central-position={} must not be negative", options.central_position);
    };
    let classes = split_integers(&options.pdf_class_list, &[':'], false).filter(|list| !list.is_empty());
    let classes = classes.with_context(|| {
        format!(
            "Invalid pdf-class-list string [expecting colon-separated list of integers]: {}",
            options.pdf_class_list
        )
    })?;
    let by_k_means = match options.mode.as_str() {
        "questions" if options.num_classes != -1 => {
            bail!("--num-classes is not compatible with --mode=questions")
        }
        "questions" => false,
        "k-means" => true,
        other => bail!("--mode={other}: expected questions or k-means"),
    };
    let stats: TreeStats<Gauss> = read_object(&options.tree_stats_in)?;
    let sets = trees::read_text(&options.phone_sets_in, read_sets)?;
    let mut generator = CRand::default();
    let mut rand = || generator.next();
    let clustered = if by_k_means {
        let count = usize::try_from(options.num_classes).unwrap_or(0);
        automatic::classes(&stats, &sets, &classes, central, count, &mut rand, &mut trees::print)
    } else {
        automatic::obtain_questions(&stats, &sets, &classes, central, &mut rand, &mut trees::print)
    };
    let clustered = clustered.with_context(|| options.tree_stats_in.clone())?;
    let mut w = KaldiWriter::create(&options.clustered_phones_out, false)?;
    write_lists(&mut w, &clustered)?;
    w.finish()?;
    messages::log(&format!("Wrote questions to {}", options.clustered_phones_out));
    Ok(0)
}
