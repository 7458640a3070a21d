//! `draw-tree`: prints a decision tree as a graph in DOT.

use anyhow::{Context, bail};
use kaldi_hmm::ContextDependency;
use kaldi_hmm::draw::Drawing;
use kaldi_hmm::event_map::PDF_CLASS;
use kaldi_io::read_object;
use kaldi_io::symbols::SymbolTable;
use std::io::Write;
/// Outputs a decision tree description in GraphViz format.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: draw-tree phones.txt tree | dot -Gsize=8,10.5 -Tps | ps2pdf - tree.pdf")]
pub struct Options {
    /// a query to trace through the tree (format: pdf-class/ctx-phone1/.../ctx-phoneN)
    #[arg(long, default_value = "")]
    query: String,
    /// use tooltips instead of labels
    #[arg(long, default_value_t = false)]
    use_tooltips: bool,
    /// generates HTML boilerplate (useful with SVG)
    #[arg(long, default_value_t = false)]
    gen_html: bool,
    #[arg(value_name = "<phone-symbols> <tree>", num_args = 0..=2)]
    files: Vec<String>,
}

const HTML: &str = "<html>\n<head><title>Decision Tree</title></head>\n<body><object data=\"tree.svg\" \
    type=\"image/svg+xml\"/></body>\n</html>\n";

/// The event that a query means, of a window of `width` phones.
fn event(query: &str, symbols: &SymbolTable, width: usize) -> anyhow::Result<Vec<(i32, i32)>> {
    let words: Vec<&str> = query.split('/').collect();
    let [class, phones @ ..] = &words[..] else { bail!("--query is empty") };
    if phones.len() != width {
        bail!("--query={query}: expected a pdf-class and {width} phones");
    }
    let class = class.parse().ok().filter(|class| *class >= 0);
    let class = class.with_context(|| format!("--query={query}: invalid pdf-class"))?;
    let mut event = vec![(PDF_CLASS, class)];
    for (position, phone) in (0..).zip(phones) {
        let number = symbols.number(phone).and_then(|number| i32::try_from(number).ok());
        event.push((position, number.with_context(|| format!("--query={query}: unknown phone '{phone}'"))?));
    }
    Ok(event)
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let mut out = kaldi_cli::StandardOutput::open()?;
    if options.gen_html {
        out.write_all(HTML.as_bytes())?;
        return Ok(0);
    }
    let [symbols, tree_file] = &options.files[..] else { bail!("expected the phones' symbols and a tree") };
    let symbols = SymbolTable::load(symbols)?;
    let tree: ContextDependency = read_object(tree_file)?;
    let query = match options.query.as_str() {
        "" => None,
        query => Some(event(query, &symbols, tree.context_width())?),
    };
    let drawing = Drawing {
        phone_name: &|phone| symbols.name(phone.into()).map(str::to_owned),
        query: query.as_deref(),
        use_tooltips: options.use_tooltips,
    };
    out.write_all(tree.draw(&drawing).with_context(|| tree_file.clone())?.as_bytes())?;
    Ok(0)
}
