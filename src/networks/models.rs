//! Reading networks, and the programs that copy them: Kaldi's scripts read through a pipe of such a program to change
//! a network on the way.

use std::io::Read;

use anyhow::{Context, Result, bail};
use kaldi_cli::Parsed;
use kaldi_cli::log::{self, Site};
use kaldi_cli::{kaldi_log, terminal};
use kaldi_io::filename::RxFilename;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::nnet::Nnet;
use nnet3_train::acoustic::AmNnet;

use crate::acoustic::warn_of_removed_priors;
use crate::options::edit::EditOptions;
use crate::{messages, plain_shell, prepare};

/// Reads a raw network, or the network of an acoustic model, from a file, pipe or `-`. Does the work of `nnet3-copy … -
/// |` and `nnet3-am-copy --raw=true … - |` without a process.
pub fn load(rxfilename: &str) -> Result<Nnet> {
    let nnet = load_any(rxfilename)?;
    warn_not_finite(rxfilename, &nnet)?;
    Ok(nnet)
}

/// Reads an acoustic model.
pub fn load_acoustic(rxfilename: &str) -> Result<AmNnet> {
    let model = AmNnet::load(rxfilename)?;
    warn_not_finite(rxfilename, model.nnet())?;
    Ok(model)
}

/// Writes a network that was trained or averaged, unless it has become useless: a file that was there before stays.
pub fn save_trained(nnet: &Nnet, wxfilename: &str, binary: bool) -> Result<()> {
    if let Some(message) = not_finite(nnet)? {
        bail!(
            "{message}: the model is not written to {wxfilename} (are learning rates too high, or data unusual?)"
        );
    }
    nnet.save(wxfilename, binary).with_context(|| format!("cannot write the model to {wxfilename}"))
}

fn warn_not_finite(name: &str, nnet: &Nnet) -> Result<()> {
    if let Some(message) = not_finite(nnet)? {
        messages::warn(&format!("{name}: {message}"));
    }
    Ok(())
}

fn not_finite(nnet: &Nnet) -> Result<Option<String>> {
    let names = nnet.not_finite()?;
    Ok(match names[..] {
        [] => None,
        [name] => Some(format!("values of the component {name} are nan or infinite")),
        [first, ..] => {
            Some(format!("values of {} components, such as {first}, are nan or infinite", names.len()))
        }
    })
}

/// All bytes of a file.
pub fn bytes(rxfilename: &str) -> Result<Vec<u8>> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    let mut bytes = Vec::new();
    r.read_to_end(&mut bytes).with_context(|| rxfilename.to_owned())?;
    r.close()?;
    Ok(bytes)
}

/// Returns the bytes of a model file, a network or an acoustic model. If it is text, they are the bytes of its binary
/// form.
pub fn binary_bytes(rxfilename: &str) -> Result<Vec<u8>> {
    let bytes = bytes(rxfilename)?;
    if bytes.starts_with(b"\0B") {
        return Ok(bytes);
    }
    let mut r = KaldiReader::from_bytes(rxfilename, bytes);
    let mut w = KaldiWriter::in_memory(true);
    match r.peek_token()? {
        Some(b'T') => AmNnet::read(&mut r)?.write(&mut w)?,
        _ => Nnet::read(&mut r)?.write(&mut w)?,
    }
    r.skip_whitespace()?;
    if !r.at_eof()? {
        bail!(r.error("expected the end of the file after the model"));
    }
    Ok([b"\0B", &w.into_bytes()[..]].concat())
}

/// Writes the bytes. The file appears whole or not at all.
pub fn write_bytes(wxfilename: &str, bytes: &[u8]) -> Result<()> {
    let mut w = KaldiWriter::create(wxfilename, false)?;
    w.write_bytes(bytes)?;
    Ok(w.finish()?)
}

fn load_any(rxfilename: &str) -> Result<Nnet> {
    match RxFilename::parse(rxfilename) {
        Ok(RxFilename::Pipe(command)) => {
            let copied = copied::<Copy>(&command).or_else(|| copied::<AmCopy>(&command));
            copied.unwrap_or_else(|| Ok(Nnet::load(rxfilename)?))
        }
        _ => Ok(Nnet::load(rxfilename)?),
    }
}

/// Returns the network that a copying program would write to standard output. `None` if the command needs the shell.
fn copied<P: CopyProgram>(command: &str) -> Option<Result<Nnet>> {
    let [command] = &plain_shell::pipeline(command)?[..] else { return None };
    let Parsed { options, echo, .. } = command.parse::<P>(P::NAME)?;
    if !options.writes_raw_to_stdout() {
        return None;
    }
    terminal::print(echo.as_bytes());
    let nnet = log::acting_as(P::NAME, || through_memory(&options));
    Some(nnet.with_context(|| P::NAME))
}

/// Writes and reads as a pipe would: not all that a network holds in memory is stored.
fn through_memory(program: &impl CopyProgram) -> Result<Nnet> {
    let mut w = KaldiWriter::in_memory(true);
    program.copy()?.write(&mut w)?;
    program.log();
    let mut r = KaldiReader::from_bytes("memory", w.into_bytes());
    r.set_binary(true);
    Ok(Nnet::read(&mut r)?)
}

/// A program that copies a network.
trait CopyProgram: clap::Parser {
    const NAME: &str;

    fn writes_raw_to_stdout(&self) -> bool;

    /// The changed network.
    fn copy(&self) -> Result<Nnet>;

    /// Logs the result.
    fn log(&self);
}

/// Copy 'raw' nnet3 neural network to standard output, possibly changing it.
#[derive(clap::Parser)]
pub struct Copy {
    #[command(flatten)]
    mode: crate::options::OutputMode,
    #[command(flatten)]
    edit: EditOptions,
    /// Sets the test mode of batch-norm components
    #[arg(long, default_value_t = false)]
    batchnorm_test_mode: bool,
    nnet_in: String,
    nnet_out: String,
}

impl Copy {
    /// The whole of `nnet3-copy`.
    pub fn run(self) -> Result<u8> {
        let rounds = self.edit.rounds(self.mode.binary)?;
        let nnet = self.copy()?;
        if rounds {
            nnet.save_rounded(&self.nnet_out)?
        } else {
            nnet.save(&self.nnet_out, self.mode.binary)?
        }
        self.log();
        Ok(0)
    }
}

impl CopyProgram for Copy {
    const NAME: &str = "nnet3-copy";

    fn writes_raw_to_stdout(&self) -> bool {
        self.mode.binary && self.nnet_out == "-"
    }

    fn copy(&self) -> Result<Nnet> {
        self.edit.check()?;
        let mut nnet = load(&self.nnet_in)?;
        let edit = &self.edit;
        edit.apply_config(&mut nnet)?;
        edit.apply_learning_rate(&mut nnet);
        nnet.scale(edit.scale);
        edit.apply_edits(&mut nnet)?;
        if edit.prepare_for_test {
            prepare::for_test(&mut nnet)?;
        } else {
            nnet.set_batchnorm_test_mode(self.batchnorm_test_mode);
        }
        if edit.rounds(self.mode.binary)? {
            nnet.round_weights();
        }
        Ok(nnet)
    }

    fn log(&self) {
        let site = Site::main("nnet3-copy.cc", 130);
        kaldi_log!(site, "Copied raw neural net from {} to {}", self.nnet_in, self.nnet_out);
    }
}

/// Copy nnet3 neural-net acoustic model file, possibly changing it; supports conversion to raw model (--raw=true).
///
/// The network can be replaced by a raw one (--set-raw-nnet), and changed as nnet3-copy does.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n nnet3-am-copy --binary=false 1.mdl text.mdl\n nnet3-am-copy --raw=true 1.mdl 1.raw"
)]
pub struct AmCopy {
    #[command(flatten)]
    mode: crate::options::OutputMode,
    /// If true, write only 'raw' neural net without transition model and priors
    #[arg(long, default_value_t = false)]
    raw: bool,
    /// Set the raw nnet inside the model to the one in this file. This is done before all other changes
    #[arg(long, default_value = "")]
    set_raw_nnet: String,
    /// Convert all RepeatedAffineComponents and NaturalGradientRepeatedAffineComponents to BlockAffineComponents; done
    /// after set-raw-nnet and nnet-config
    #[arg(long, default_value_t = false)]
    convert_repeated_to_block: bool,
    #[command(flatten)]
    edit: EditOptions,
    nnet_in: String,
    nnet_out: String,
}

impl AmCopy {
    /// The whole of `nnet3-am-copy`.
    pub fn run(self) -> Result<u8> {
        let rounds = self.edit.rounds(self.mode.binary)?;
        let model = self.model()?;
        match (self.raw, rounds) {
            (true, false) => model.into_nnet().save(&self.nnet_out, self.mode.binary)?,
            (true, true) => model.into_nnet().save_rounded(&self.nnet_out)?,
            (false, false) => model.save(&self.nnet_out, self.mode.binary)?,
            (false, true) => model.save_rounded(&self.nnet_out)?,
        }
        self.log();
        Ok(0)
    }

    fn model(&self) -> Result<AmNnet> {
        self.edit.check()?;
        let mut model = load_acoustic(&self.nnet_in)?;
        if !self.set_raw_nnet.is_empty() {
            warn_of_removed_priors(model.set_nnet(load(&self.set_raw_nnet)?)?);
            let (outputs, pdfs) = (model.num_pdfs(), model.transitions.num_pdfs());
            if outputs != pdfs {
                messages::warn(&format!(
                    "--set-raw-nnet={}: the output of the network has dimension {outputs}, but the transition model of {} has {pdfs} pdfs: \
                     nnet3-am-init makes a model of a network and another transition model",
                    self.set_raw_nnet, self.nnet_in
                ));
            }
        }
        warn_of_removed_priors(model.change_nnet(|nnet| self.change(nnet))?);
        Ok(model)
    }

    fn change(&self, nnet: &mut Nnet) -> Result<()> {
        let edit = &self.edit;
        edit.apply_config(nnet)?;
        if self.convert_repeated_to_block {
            nnet.convert_repeated_to_block();
        }
        edit.apply_learning_rate(nnet);
        edit.apply_edits(nnet)?;
        nnet.scale(edit.scale);
        if edit.prepare_for_test {
            prepare::for_test(nnet)?;
        }
        if edit.rounds(self.mode.binary)? {
            nnet.round_weights();
        }
        Ok(())
    }
}

impl CopyProgram for AmCopy {
    const NAME: &str = "nnet3-am-copy";

    fn writes_raw_to_stdout(&self) -> bool {
        self.raw && self.mode.binary && self.nnet_out == "-"
    }

    fn copy(&self) -> Result<Nnet> {
        Ok(self.model()?.into_nnet())
    }

    fn log(&self) {
        let (from, to) = (&self.nnet_in, &self.nnet_out);
        let as_what = if self.raw { "to raw format as" } else { "to" };
        messages::log(&format!("Copied neural net from {from} {as_what} {to}"));
    }
}
