//! A server of recognisers: the work of `nnet3-serve`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_io::cli::FAILED;
use kaldi_io::{KaldiReader, StandardOutput, terminal};
use kaldi_sound::SoundStream;
use nnet3::messages;
use nnet3::options::threads;
use nnet3_serve::{Access, DecoderProgram, Event, Limits, SOUND, Server, Settings};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::recognition::transcribe::PieceArgs;

/// Bytes of a megabyte.
const MEGABYTE: usize = 1 << 20;
/// The running program, even if its file was replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// The shortest token that is no mistake.
const SHORTEST_TOKEN: usize = 8;

// The address of the server, and limits of clients.
#[derive(Args, Clone, Debug)]
pub struct ServingArgs {
    /// Port to listen on; 0: a free one, which the log names
    #[arg(long, default_value_t = 2700)]
    port: u16,
    /// Address to listen on. The default is for clients on this machine alone; 0.0.0.0: all addresses
    #[arg(long, default_value = "127.0.0.1")]
    listen: IpAddr,
    /// File whose first line is a secret that clients must send, as Authorization: Bearer or as ?token=
    #[arg(long, default_value = "")]
    token_file: String,
    /// Pages of other addresses whose scripts may use the server, separated by commas, such as https://example.org; *: all
    #[arg(long, default_value = "", value_delimiter = ',')]
    allow_origin: Vec<String>,
    /// Threads that recognise; 0: one for each processor
    #[arg(long, default_value_t = 0)]
    threads: i32,
    /// Threads that prepare the i-vector extractor at the beginning
    #[arg(long, default_value_t = 2)]
    num_threads_startup: i32,
    /// Rate of the sound of clients that do not name it, in Hz; 0: the model's
    #[arg(long, default_value_t = 0)]
    sample_rate: u32,
    /// Sessions at a time: sockets that have sent sound, and recordings
    #[arg(long, default_value_t = Limits::default().sessions)]
    max_sessions: usize,
    /// Sessions that may wait for another one to end; more are refused
    #[arg(long, default_value_t = Limits::default().waiting)]
    max_waiting: usize,
    /// Longest wait of a session, in seconds
    #[arg(long, default_value_t = 10.0)]
    max_wait: f64,
    /// Sessions of one network address; 0: as many as of all
    #[arg(long, default_value_t = 0)]
    max_sessions_per_address: usize,
    /// Seconds of sound of a session
    #[arg(long, default_value_t = Limits::default().seconds)]
    max_seconds: f64,
    /// Longest pause of a client that has to send something, in seconds
    #[arg(long, default_value_t = 30.0)]
    max_idle: f64,
    /// Bytes of a message
    #[arg(long, default_value_t = Limits::default().message)]
    max_message: usize,
    /// Megabytes of a recording
    #[arg(long, default_value_t = 100)]
    max_recording: usize,
    /// Megabytes of data of the process that decodes a recording
    #[arg(long, default_value_t = 1024)]
    max_decoder_memory: usize,
    /// Seconds of a processor that decode a recording
    #[arg(long, default_value_t = 300)]
    max_decoder_seconds: u64,
    /// Decode the recording of standard input to a wave on standard output, without a server. A server calls itself so for
    /// each recording: a fault of a decoder ends that process alone
    #[arg(long)]
    decode: bool,
    /// Longest sending of a recording, in seconds
    #[arg(long, default_value_t = 600.0)]
    max_upload: f64,
}

impl ServingArgs {
    fn limits(&self) -> Result<Limits> {
        let seconds = |name: &str, value: f64| {
            Duration::try_from_secs_f64(value)
                .ok()
                .filter(|&time| time <= Duration::from_secs(1_000_000))
                .with_context(|| format!("--{name}={value}: expected from 0 to 1000000 seconds"))
        };
        Ok(Limits {
            sessions: self.max_sessions,
            waiting: self.max_waiting,
            wait: seconds("max-wait", self.max_wait)?,
            sessions_of_address: Some(self.max_sessions_per_address).filter(|&most| most > 0),
            seconds: self.max_seconds,
            idle: seconds("max-idle", self.max_idle)?,
            message: self.max_message,
            recording: self.max_recording.saturating_mul(MEGABYTE),
            upload: seconds("max-upload", self.max_upload)?,
        })
    }

    fn access(&self) -> Result<Access> {
        let origins = self.allow_origin.iter().filter(|origin| !origin.is_empty()).cloned().collect();
        if self.token_file.is_empty() {
            return Ok(Access { token: None, origins });
        }
        let text = std::fs::read_to_string(&self.token_file)
            .with_context(|| format!("--token-file={}", self.token_file))?;
        let token = text.lines().next().unwrap_or("").trim();
        if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!(
                "--token-file={}: expected a first line of at least {SHORTEST_TOKEN} ASCII characters without blanks, \
                 found one of {}",
                self.token_file,
                token.chars().count()
            );
        }
        Ok(Access { token: Some(token.to_owned()), origins })
    }
}

/// Serves clients until a signal comes, and the running sessions have ended.
pub fn serve(args: &ServingArgs, pieces: &PieceArgs, folder: Option<String>) -> Result<u8> {
    if args.decode {
        return decode(args);
    }
    let (limits, access) = (args.limits()?, args.access()?);
    let threads = threads::count(args.threads, usize::MAX)?;
    let settings = Settings {
        address: SocketAddr::new(args.listen, args.port),
        access,
        limits,
        threads: threads::number("threads", threads as i64)?,
        rate: Some(args.sample_rate).filter(|&rate| rate > 0),
        decoder: Some(decoder(args)?),
    };
    let at_startup = threads::number("num-threads-startup", args.num_threads_startup.into())?;
    let mut paths: Vec<String> = folder.into_iter().collect();
    let model = pieces.open(&mut paths, at_startup)?;
    if let Some(folder) = paths.first() {
        bail!("expected one model, found --mdl={} and the folder '{folder}'", pieces.mdl);
    }
    if !args.listen.is_loopback() && settings.access.token.is_none() {
        messages::warn(
            "anyone who reaches this address can use the server; --token-file=FILE asks for a secret",
        );
    }
    Server::new(model, settings, tell)?.run()?;
    Ok(0)
}

/// The call of [`decode`].
fn decoder(args: &ServingArgs) -> Result<DecoderProgram> {
    let this = PathBuf::from(THIS_PROGRAM);
    let program = if this.exists() { this } else { std::env::current_exe()? };
    let arguments = vec![
        "--decode".to_owned(),
        "--print-args=false".to_owned(),
        format!("--max-decoder-memory={}", args.max_decoder_memory),
        format!("--max-decoder-seconds={}", args.max_decoder_seconds),
    ];
    Ok(DecoderProgram { program, name: "nnet3-serve".to_owned(), arguments })
}

/// Decodes standard input to a wave on standard output, within limits of memory and time, which hold for the programs that
/// it calls, too. The last line of standard error is for the client.
fn decode(args: &ServingArgs) -> Result<u8> {
    let bytes = args.max_decoder_memory.saturating_mul(MEGABYTE) as u64;
    for (resource, most) in [(Resource::Data, bytes), (Resource::Cpu, args.max_decoder_seconds)] {
        // (At the larger one of two limits of time, a signal comes that names no reason.)
        let limit = Rlimit { current: Some(most), maximum: Some(most.saturating_add(1)) };
        setrlimit(resource, limit).with_context(|| format!("a limit of {most} for {resource:?}"))?;
    }
    let sound = SoundStream::from_reader(KaldiReader::from_read(SOUND, std::io::stdin()));
    let out = StandardOutput::open()?;
    match sound.and_then(|sound| sound.write_wave(out)) {
        Ok(()) => Ok(0),
        Err(error) => {
            terminal::print(format!("{:#}\n", anyhow::Error::from(error)).as_bytes());
            Ok(FAILED)
        }
    }
}

/// Logs an event.
fn tell(event: Event) {
    match event {
        Event::Listening { address } => messages::log(&format!("Listening on http://{address}")),
        Event::Ended { address, reason } => messages::warn(&format!("{address}: {reason}")),
        Event::NotAccepted { cause } => messages::warn(&format!("A client could not be accepted: {cause}")),
        Event::Stopping { running } => {
            messages::log(&format!("Stopping: no new sessions, {running} still run"));
        }
        Event::Stopped => messages::log("Stopped"),
    }
}
