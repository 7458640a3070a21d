//! A server of recognisers: the work of `nnet3-serve`.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use kaldi_cli::{FAILED, StandardOutput, terminal};
use kaldi_io::KaldiReader;
use kaldi_sound::SoundStream;
use nnet3::messages;
use nnet3::options::threads;
use nnet3_serve::protocol::RATES;
use nnet3_serve::{Access, BAD_RECORDING, DecoderProgram, Event, Limits, Listeners, SOUND, Server, Settings};

use crate::recognition::system_limits::{self, SystemLimits};
use crate::recognition::transcribe::{PieceArgs, SpeakerArgs};

/// Bytes of a megabyte.
const MEGABYTE: usize = 1 << 20;
/// The running program, even if its file was replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// Connections of an address beside those of its sessions, unless an option says otherwise: for the page, figures, and
/// sockets before their first sound.
const OTHER_CONNECTIONS: usize = 10;
/// Bytes of a file that holds a recording.
const SHORTEST_RECORDING: usize = 1000;
/// The shortest token that is no mistake.
const SHORTEST_TOKEN: usize = 8;
/// Bytes of the line of a token, at most. Headers of a request may have 16 KiB.
const LONGEST_TOKEN_LINE: u64 = 8192;

// The address of the server, and limits of clients.
#[derive(Args, Clone, Debug)]
pub struct ServingArgs {
    /// Port to listen on; 0: a free one, which the log names
    #[arg(long, default_value_t = 2700)]
    port: u16,
    /// Address to listen on. The default is for clients on this machine alone; 0.0.0.0: all addresses
    #[arg(long, default_value = "127.0.0.1")]
    listen: IpAddr,
    /// File whose first line is a secret of at least 8 characters that clients must send, as Authorization: Bearer or as ?token=
    #[arg(long, default_value = "")]
    token_file: String,
    /// Pages of other addresses whose scripts may use the server, separated by commas, such as https://example.org; *: all
    #[arg(long, default_value = "", value_delimiter = ',')]
    allow_origin: Vec<String>,
    /// Names by which clients may call the server, separated by commas, besides addresses and localhost; *: any. Others are
    /// refused, since a web page may have a name that leads to this server
    #[arg(long, default_value = "", value_delimiter = ',')]
    host_names: Vec<String>,
    /// Port for clients of the Wyoming protocol, such as Home Assistant; 0: a free one, which the log names. Without it they are
    /// not served. The protocol has no secrets, so it is not for --token-file
    #[arg(long, value_name = "PORT")]
    wyoming_port: Option<u16>,
    /// Language of the model, such as en, for clients that ask
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
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
    /// Sessions of one network address, with recordings that arrive; 0: as many as of all
    #[arg(long, default_value_t = 0)]
    max_sessions_per_address: usize,
    /// Connections of one network address; 0: 10 more than --max-sessions-per-address, if that is given
    #[arg(long, default_value_t = 0)]
    max_connections_per_address: usize,
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
    /// Longest wait for the next sound of the process that decodes a recording, in seconds; then it is ended
    #[arg(long, default_value_t = 60.0)]
    max_decoder_wait: f64,
    /// Decode the recording of standard input to a wave on standard output, without a server. A server calls itself so for
    /// each recording: a fault of a decoder ends that process alone
    #[arg(long)]
    decode: bool,
    /// Longest sending of a recording, in seconds
    #[arg(long, default_value_t = 600.0)]
    max_upload: f64,
}

impl ServingArgs {
    /// The limits of clients. Those of the system may be lower.
    fn limits(&self, system: &SystemLimits) -> Result<Limits> {
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
            sessions_of_address: given(self.max_sessions_per_address),
            connections_of_address: given(self.max_connections_per_address).or_else(|| {
                given(self.max_sessions_per_address).map(|most| most.saturating_add(OTHER_CONNECTIONS))
            }),
            seconds: self.max_seconds,
            idle: seconds("max-idle", self.max_idle)?,
            message: self.max_message,
            recording: self.recording(system)?,
            upload: seconds("max-upload", self.max_upload)?,
            decoder: seconds("max-decoder-wait", self.max_decoder_wait)?,
        })
    }

    /// Bytes of a recording, which is kept in a file.
    fn recording(&self, system: &SystemLimits) -> Result<usize> {
        let megabytes = self.max_recording;
        if !(1..=1 << 20).contains(&megabytes) {
            bail!("--max-recording={megabytes}: expected from 1 to {} megabytes", 1 << 20);
        }
        let most = usize::try_from(system.file.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        if most < SHORTEST_RECORDING {
            bail!("--max-recording={megabytes}: files may not have more than {most} bytes (ulimit -f)");
        }
        if most < megabytes * MEGABYTE {
            messages::warn(&format!(
                "--max-recording={megabytes}: a recording may have {most} bytes, since files may not be larger (ulimit -f)"
            ));
        }
        Ok(most.min(megabytes * MEGABYTE))
    }

    /// Checks values that no client could be served with.
    fn check(&self) -> Result<()> {
        if self.sample_rate != 0 && !RATES.contains(&self.sample_rate) {
            bail!(
                "--sample-rate={}: expected a rate from {} to {} Hz",
                self.sample_rate,
                RATES.start(),
                RATES.end()
            );
        }
        for (name, value) in [
            ("max-decoder-memory", self.max_decoder_memory as u64),
            ("max-decoder-seconds", self.max_decoder_seconds),
        ] {
            if value == 0 {
                bail!("--{name}=0: expected at least 1");
            }
        }
        if let (Some(port), false) = (self.wyoming_port, self.token_file.is_empty()) {
            bail!("--wyoming-port={port}: the protocol has no secrets, so it is not for --token-file");
        }
        for origin in self.allow_origin.iter().filter(|origin| !origin.is_empty()) {
            let is_origin = origin.split_once("://").is_some_and(|(scheme, host)| {
                !scheme.is_empty() && !host.is_empty() && !host.contains(['/', '?', '#', ' ', '*'])
            });
            if origin != "*" && !is_origin {
                bail!(
                    "--allow-origin={origin}: expected *, or a scheme and a host as in https://example.org"
                );
            }
        }
        for name in self.host_names.iter().filter(|name| !name.is_empty()) {
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
            if name != "*" && !is_name {
                bail!(
                    "--host-names={name}: expected *, or a name without scheme and port, as in speech.example.org"
                );
            }
        }
        Ok(())
    }

    /// Bytes of data of the process that decodes a recording.
    fn decoder_memory(&self) -> u64 {
        self.max_decoder_memory.saturating_mul(MEGABYTE) as u64
    }

    fn access(&self) -> Result<Access> {
        let listed = |list: &[String]| list.iter().filter(|item| !item.is_empty()).cloned().collect();
        let (origins, names) = (listed(&self.allow_origin), listed(&self.host_names));
        if self.token_file.is_empty() {
            return Ok(Access { token: None, origins, names });
        }
        let first =
            first_line(&self.token_file).with_context(|| format!("--token-file={}", self.token_file))?;
        let token = first.trim();
        if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!(
                "--token-file={}: expected a first line of at least {SHORTEST_TOKEN} ASCII characters without blanks, \
                 found one of {}",
                self.token_file,
                token.chars().count()
            );
        }
        Ok(Access { token: Some(token.to_owned()), origins, names })
    }
}

/// The first line of a file. It must end within [`LONGEST_TOKEN_LINE`]: a device may have no end.
fn first_line(file: &str) -> Result<String> {
    let mut bytes = Vec::new();
    BufReader::new(File::open(file)?).take(LONGEST_TOKEN_LINE + 1).read_until(b'\n', &mut bytes)?;
    if bytes.len() as u64 > LONGEST_TOKEN_LINE {
        bail!("expected a first line of at most {LONGEST_TOKEN_LINE} bytes, found a longer one");
    }
    String::from_utf8(bytes).context("expected a first line of ASCII characters, found one that is not UTF-8")
}

/// A limit that is 0 if there is none.
fn given(most: usize) -> Option<usize> {
    Some(most).filter(|&most| most > 0)
}

/// Serves clients until a signal comes, and the running sessions have ended.
pub fn serve(
    args: &ServingArgs,
    pieces: &PieceArgs,
    speakers: &SpeakerArgs,
    folder: Option<String>,
) -> Result<u8> {
    if args.decode {
        return decode(args);
    }
    args.check()?;
    let system = SystemLimits::now();
    let (limits, access) = (args.limits(&system)?, args.access()?);
    limits.check()?;
    system_limits::allow_files(limits.connections(), limits.sessions)?;
    if let Some(seconds) = system.time {
        messages::warn(&format!(
            "the system ends this server after {seconds} s of processor time (ulimit -t)"
        ));
    }
    let threads = match args.threads {
        0 => threads::processors() as i64,
        wanted => wanted.into(),
    };
    let settings = Settings {
        access,
        limits,
        threads: threads::number("threads", threads)?,
        rate: Some(args.sample_rate).filter(|&rate| rate > 0),
        decoder: Some(decoder(args, &system)?),
        language: args.language.clone(),
        speakers: speakers.load()?,
    };
    let at_startup = threads::number("num-threads-startup", args.num_threads_startup.into())?;
    let mut paths: Vec<String> = folder.into_iter().collect();
    let folder = pieces.folder(&mut paths)?;
    // (A port that is taken is an error before a model is loaded.)
    let address = |port| SocketAddr::new(args.listen, port);
    let listeners = Listeners::bind(address(args.port), args.wyoming_port.map(address))
        .map_err(|error| not_bound(error, args))?;
    let model = pieces.open(folder, at_startup)?;
    speakers.compare(settings.speakers.as_ref(), &model);
    if let Some(folder) = paths.first() {
        bail!("expected one model, found --mdl={} and the folder '{folder}'", pieces.mdl);
    }
    if !args.listen.is_loopback() && settings.access.token.is_none() {
        messages::warn(
            "anyone who reaches this address can use the server; --token-file=FILE asks for a secret",
        );
    }
    let server = Server::new(model, listeners, settings, tell).map_err(|error| match error {
        nnet3_serve::Error::Decoder(_) => anyhow::Error::new(error).context(format!(
            "--max-decoder-memory={}, --max-decoder-seconds={}",
            args.max_decoder_memory, args.max_decoder_seconds
        )),
        error => error.into(),
    })?;
    server.run()?;
    Ok(0)
}

/// The error of a port that cannot be had, with the option that chooses another one.
fn not_bound(error: nnet3_serve::Error, args: &ServingArgs) -> anyhow::Error {
    match &error {
        nnet3_serve::Error::Listen { address, source } if source.kind() == ErrorKind::AddrInUse => {
            let option = if address.port() == args.port { "port" } else { "wyoming-port" };
            anyhow!("{error}; --{option}=N takes another port, and --{option}=0 a free one")
        }
        _ => error.into(),
    }
}

/// The call of [`decode`].
fn decoder(args: &ServingArgs, system: &SystemLimits) -> Result<DecoderProgram> {
    let this = PathBuf::from(THIS_PROGRAM);
    let program = if this.exists() { this } else { std::env::current_exe()? };
    let arguments = vec![
        "--decode".to_owned(),
        "--print-args=false".to_owned(),
        format!("--max-decoder-memory={}", args.max_decoder_memory),
        format!("--max-decoder-seconds={}", args.max_decoder_seconds),
    ];
    let is_short = system.data.is_some_and(|most| most < args.decoder_memory())
        || system.time.is_some_and(|most| most < args.max_decoder_seconds);
    if is_short {
        messages::warn(
            "the system gives the process that decodes a recording less than --max-decoder-memory or --max-decoder-seconds \
             (ulimit -d, ulimit -t)",
        );
    }
    Ok(DecoderProgram { program, name: "nnet3-serve".to_owned(), arguments, is_short })
}

/// Decodes standard input to a wave on standard output, within limits of memory and time, which hold for the programs that
/// it calls, too. The last line of standard error is for the client; the status tells if the recording is at fault.
fn decode(args: &ServingArgs) -> Result<u8> {
    system_limits::limit_decoder(args.decoder_memory(), args.max_decoder_seconds)?;
    let sound = SoundStream::from_reader(KaldiReader::from_read(SOUND, std::io::stdin()));
    let say = |warning: &str| terminal::print(format!("{warning}\n").as_bytes());
    let out = StandardOutput::open()?;
    match sound.and_then(|sound| sound.write_wave(out, say)) {
        Ok(()) => Ok(0),
        Err(error) => {
            terminal::print(format!("{}\n", kaldi_io::error::chain(&error)).as_bytes());
            Ok(if system_limits::is_of_the_system(&error) { FAILED } else { BAD_RECORDING })
        }
    }
}

/// Logs an event.
fn tell(event: Event) {
    match event {
        Event::Listening { address } => messages::log(&format!("Listening on http://{address}")),
        Event::ListeningForWyoming { address } => {
            messages::log(&format!("Listening for the Wyoming protocol on tcp://{address}"));
        }
        Event::Ended { address, reason } => messages::warn(&format!("{address}: {reason}")),
        Event::UnknownKeys { address, keys } => {
            messages::warn(&format!("{address}: config: keys without a meaning here: {keys}"));
        }
        Event::LowRate { address, low } => messages::warn(&format!("{address}: {low}")),
        Event::Recording { address, path, status, seconds, took, remarks } => {
            let sound = seconds.map_or(String::new(), |seconds| format!(", {seconds:.2} s of sound"));
            let remarks = if remarks.is_empty() { remarks } else { format!(": {remarks}") };
            let line =
                format!("{address}: {path}: status {status}{sound}, {:.2} s{remarks}", took.as_secs_f64());
            if status < 400 { messages::log(&line) } else { messages::warn(&line) }
        }
        Event::LeftOut { count } => messages::warn(&format!("{count} log lines were left out")),
        Event::NotAccepted { cause } => messages::warn(&format!("A client could not be accepted: {cause}")),
        Event::Stopping { running } => {
            messages::log(&format!("Stopping: no new sessions, {running} still run"));
        }
        Event::Stopped => messages::log("Stopped"),
    }
}
