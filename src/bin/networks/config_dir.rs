//! The folder of configs that `nnet3-xconfig-to-configs` makes from an xconfig.

use anyhow::{Context, bail};
use kaldi_io::writer::KaldiWriter;
use nnet3_core::Random;
use nnet3_core::config::{parse_config, read_config};
use nnet3_core::graph::FrameContext;
use nnet3_core::nnet::{Nnet, Node};
use nnet3_xconfig::{Config, ExistingNode, Network};
use std::path::Path;

/// The folder, and the settings besides the network itself.
pub struct ConfigDir<'a> {
    pub path: &'a Path,
    /// The command line, for the comment at the head of each file.
    pub command_line: &'a str,
    /// A network that the configs will be added to.
    pub existing_model: Option<&'a str>,
    /// Edits before the context is computed.
    pub nnet_edits: &'a str,
}

/// Frames of context that a network needs.
struct NeededContext {
    left: i32,
    right: i32,
}

/// The nodes of a network that layers may use.
pub fn existing_nodes(nnet: &Nnet) -> Vec<ExistingNode> {
    let is_named = |id: &_| !matches!(nnet.node(*id), Node::ComponentInput { .. });
    let node = |id| ExistingNode { name: nnet.node_name(id).to_owned(), dim: nnet.node_dim(id) as i64 };
    nnet.node_ids().filter(is_named).map(node).collect()
}

impl ConfigDir<'_> {
    /// Writes all files. `xconfig` is the text from which `network` was made.
    pub fn write(&self, xconfig: &str, network: &Network) -> anyhow::Result<()> {
        std::fs::create_dir_all(self.path).with_context(|| self.path.display().to_string())?;
        self.file(
            "xconfig",
            "The xconfig that the other files were made of.",
            xconfig.lines().map(str::trim),
        )?;
        let all_keys = "The layers with all their keys.";
        self.file("xconfig.expanded.1", all_keys, network.expanded())?;
        let normal = "The layers with all their keys and descriptors in normal form.";
        self.file("xconfig.expanded.2", normal, network.normalized())?;
        for matrix in network.matrices() {
            write_text(&matrix.path, &matrix.text)?;
        }
        self.remove("init.config")?;
        if let Some(lines) = network.config(Config::Init) {
            let purpose = "The input of the network, for the statistics of an LDA-like transform.";
            self.file("init.config", purpose, lines)?;
        }
        let random = "The network with random parameters in place of files, to compute its context.";
        self.file("ref.config", random, network.config(Config::Reference).unwrap_or_default())?;
        self.file("final.config", "The network.", network.config(Config::Final).unwrap_or_default())?;
        self.write_context()
    }

    /// `ref.raw`, `init.raw` if there is an `init.config`, and `vars`.
    fn write_context(&self) -> anyhow::Result<()> {
        let reference = self.make("ref")?;
        let edited = self.edited(reference)?;
        let needed = context(&edited).context(
            "the context of the network cannot be computed; if its output has another name than 'output', rename it \
             with --nnet-edits",
        )?;
        if self.path.join("init.config").exists() {
            let init = self.make("init")?;
            // Without an output named 'output' there is no context to compare.
            if init.is_simple() {
                let init = context(&init)?;
                if init.left > needed.left || init.right > needed.right {
                    bail!(
                        "init.config needs more context ({} and {} frames) than the network ({} and {}); if labels are \
                         late, give their delay to the fixed-affine-layer as delay=…",
                        init.left,
                        init.right,
                        needed.left,
                        needed.right
                    );
                }
            }
        }
        let vars = format!("model_left_context={}\nmodel_right_context={}\n", needed.left, needed.right);
        write_text(&self.name("vars"), &vars)
    }

    /// The network of `NAME.config`, added to the existing one; it is left in `NAME.raw`.
    fn make(&self, name: &str) -> anyhow::Result<Nnet> {
        let mut nnet = match self.existing_model {
            Some(model) => Nnet::load(model)?,
            None => Nnet::default(),
        };
        nnet.read_config(read_config(&self.name(&format!("{name}.config")))?, &Random::new(0))?;
        nnet3::report::orphans(&nnet);
        nnet.save(&self.name(&format!("{name}.raw")), true)?;
        Ok(nnet)
    }

    fn edited(&self, mut nnet: Nnet) -> anyhow::Result<Nnet> {
        if !self.nnet_edits.trim().is_empty() {
            let edits = parse_config("--nnet-edits", self.nnet_edits.split(';'))?;
            nnet3::report::edits(&nnet.edit(edits)?);
        }
        Ok(nnet)
    }

    fn name(&self, file: &str) -> String {
        self.path.join(file).display().to_string()
    }

    /// A file of lines with a comment at its head.
    fn file(
        &self,
        name: &str,
        purpose: &str,
        lines: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> anyhow::Result<()> {
        let command_line = self.command_line.replace('\n', " ");
        let mut text = format!("# {purpose} Made by:\n# {command_line}\n\n");
        for line in lines {
            text += line.as_ref();
            text.push('\n');
        }
        write_text(&self.name(name), &text)
    }

    fn remove(&self, name: &str) -> anyhow::Result<()> {
        match std::fs::remove_file(self.path.join(name)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e).context(self.name(name)),
            _ => Ok(()),
        }
    }
}

fn context(nnet: &Nnet) -> anyhow::Result<NeededContext> {
    let (left, right) = nnet.context()?;
    Ok(NeededContext { left, right })
}

fn write_text(path: &str, text: &str) -> anyhow::Result<()> {
    let mut w = KaldiWriter::create(path, false)?;
    w.write_str(text)?;
    Ok(w.finish()?)
}
