//! The model file: node lines as text, then the components.

use super::{Nnet, Node};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::config::{is_valid_name, parse_config};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::NodeId;
use nnet3_base::random::Random;
use nnet3_component::registry;

/// More components than any network has.
const MAX_COMPONENTS: i32 = 100_000;

/// The first token of networks of nnet1 and nnet2.
const OLD: &[u8] = b"<Nnet>";

impl Nnet {
    /// The lines of all nodes; `with_dims` adds dimensions, as `nnet3-info` prints them.
    pub fn node_lines(&self, with_dims: bool) -> Vec<String> {
        self.node_ids().filter_map(|id| self.node_line(id, with_dims)).collect()
    }

    fn node_line(&self, id: NodeId, with_dims: bool) -> Option<String> {
        let name = self.node_name(id);
        let names = &self.node_names;
        Some(match self.node(id) {
            Node::Input { dim } => format!("input-node name={name} dim={dim}"),
            Node::ComponentInput { .. } => return None,
            Node::Component { component } => {
                let input = self.node(NodeId(id.0 - 1)).descriptor()?.print(names);
                let c = self.component(*component);
                let dims = match with_dims {
                    true => format!(" input-dim={} output-dim={}", c.input_dim(), c.output_dim()),
                    false => String::new(),
                };
                format!(
                    "component-node name={name} component={} input={input}{dims}",
                    self.component_name(*component)
                )
            }
            Node::Output { descriptor, objective } => {
                let dim = if with_dims { format!(" dim={}", self.node_dim(id)) } else { String::new() };
                format!(
                    "output-node name={name} input={}{dim} objective={}",
                    descriptor.print(names),
                    objective.name()
                )
            }
            Node::DimRange { source, dim, offset } => {
                format!(
                    "dim-range-node name={name} input-node={} dim-offset={offset} dim={dim}",
                    self.node_name(*source)
                )
            }
        })
    }

    /// Reads `<Nnet3> … </Nnet3>`, or the network of an acoustic model (`.mdl`), and checks it. The part between
    /// `<TransitionModel>` and `</TransitionModel>` is skipped.
    pub fn read(r: &mut KaldiReader) -> Result<Nnet> {
        if r.peek_token()? == Some(b'T') {
            r.expect_token("<TransitionModel>")?;
            r.skip_past("</TransitionModel>")?;
            // (A blank ends the token.)
            r.skip_whitespace()?;
            return Nnet::read_behind_transitions(r);
        }
        Nnet::read_network(r)
    }

    /// Reads the network of an acoustic model, behind its transition model, and checks it.
    pub fn read_behind_transitions(r: &mut KaldiReader) -> Result<Nnet> {
        if r.peek_token()? == Some(b'D') {
            let message = "expected an acoustic model of a neural network, found one of Gaussians: gmm-latgen-faster decodes with \
                           it, and programs that begin with gmm- read it";
            return Err(r.error(message).into());
        }
        if r.peek_bytes(OLD.len())? == OLD {
            let message =
                "expected an acoustic model of nnet3, found one of nnet2, which no program here reads";
            return Err(r.error(message).into());
        }
        Nnet::read_network(r)
    }

    fn read_network(r: &mut KaldiReader) -> Result<Nnet> {
        r.expect_token("<Nnet3>")?;
        let mut lines = Vec::new();
        let rest = next_line(r)?;
        if !rest.is_empty() {
            return Err(r
                .error(format!("expected the end of the line after <Nnet3>, found '{rest}'"))
                .into());
        }
        loop {
            let line = next_line(r)?;
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        r.expect_token("<NumComponents>")?;
        let count = r.read_i32()?;
        if !(0..MAX_COMPONENTS).contains(&count) {
            return Err(r
                .error(format!("expected fewer than {MAX_COMPONENTS} components, found {count}"))
                .into());
        }
        let mut nnet = Nnet::default();
        for _ in 0..count {
            r.expect_token("<ComponentName>")?;
            let name = r.read_token()?;
            if !is_valid_name(&name) {
                let name = name.escape_debug();
                return Err(r.error(format!("'{name}' is not a valid name of a component")).into());
            }
            if nnet.find_component(&name).is_some() {
                return Err(r.error(format!("component '{name}' occurs twice")).into());
            }
            nnet.components.push(registry::read(r)?);
            nnet.component_names.push(name);
        }
        r.expect_token("</Nnet3>")?;
        let parsed = parse_config(r.name(), lines.iter().map(String::as_str))?;
        if let Some(line) = parsed.iter().find(|line| line.first_token == "component") {
            return Err(line.error("a component line is not allowed among the node lines of a model file"));
        }
        nnet.with_config(parsed, &Random::new(0))
    }

    /// Writes `<Nnet3> … </Nnet3>`.
    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<Nnet3>")?;
        w.write_str("\n")?;
        for line in self.node_lines(false) {
            w.write_str(&line)?;
            w.write_str("\n")?;
        }
        w.write_str("\n")?;
        w.write_token("<NumComponents>")?;
        w.write_i32(self.components.len() as i32)?;
        w.newline_in_text()?;
        for (component, name) in self.components().zip(&self.component_names) {
            w.write_token("<ComponentName>")?;
            w.write_token(name)?;
            component.write(w)?;
            w.newline_in_text()?;
        }
        w.write_token("</Nnet3>")?;
        Ok(())
    }

    /// Reads a raw network, or the network of an acoustic model, from a file, pipe or `-`.
    pub fn load(rxfilename: &str) -> Result<Nnet> {
        let mut r = KaldiReader::open(rxfilename)?;
        let nnet = Nnet::read(&mut r)?;
        r.finish()?;
        Ok(nnet)
    }

    /// Writes a raw network; a file appears whole or not at all.
    pub fn save(&self, wxfilename: &str, binary: bool) -> Result<()> {
        let mut w = KaldiWriter::create(wxfilename, binary)?;
        self.write(&mut w)?;
        Ok(w.finish()?)
    }

    /// As [`Nnet::save`] in binary, with a byte for each weight of matrices that [`Nnet::round_weights`] has rounded.
    /// Kaldi does not read them.
    pub fn save_rounded(&self, wxfilename: &str) -> Result<()> {
        let mut w = KaldiWriter::create(wxfilename, true)?;
        w.write_whole_numbers_as_bytes(true);
        self.write(&mut w)?;
        Ok(w.finish()?)
    }
}

fn next_line(r: &mut KaldiReader) -> Result<String> {
    match r.read_line()? {
        Some(line) => Ok(line.strip_suffix('\r').map(String::from).unwrap_or(line)),
        None => Err(Error::Io(r.error("the file ends inside the network's node lines"))),
    }
}
