//! A server of recognizers: one thread for each client that is served at a time.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use kaldi_cli::Group;
use kaldi_feat::wave::RATES;
use kaldi_io::symbols::SymbolTable;
use kaldi_io::threads::start_in_or_return;
use nnet3::forward::load_acoustic_network;
use nnet3::lattices::{no_name, open_symbols};
use nnet3::messages;
use nnet3::options::cpu_math::CpuMathOptions;
use nnet3::options::threads;
use nnet3::options::weights::WeightsOptions;
use nnet3_online::server::{Conversation, Event, Host, converse};
use nnet3_online::{Model, RecognizerOptions, Stream};

use crate::recognition::online::samples::Files;
use crate::recognition::options::online::{PipelineArgs, check, model};
use nnet3_online::config::recognizer::RecognizerArgs;
use nnet3_online::graph::read_whole;

// How clients are served.
#[derive(Args, Clone, Debug)]
pub struct ServerArgs {
    /// Sampling frequency of the input signal (coded as 16-bit slinear).
    #[arg(long, default_value_t = 16000.0)]
    samp_freq: f32,
    /// Length of chunk size in seconds, that we process.
    #[arg(long, default_value_t = 0.18)]
    chunk_length: f32,
    /// Seconds between checks for changes in output.
    #[arg(long, default_value_t = 1.0)]
    output_period: f32,
    /// Number of threads used when initializing iVector extractor.
    #[arg(long, default_value_t = 8)]
    num_threads_startup: i32,
    /// Number of seconds of timeout for TCP audio data to appear on the stream. Use -1 for blocking.
    #[arg(long, default_value_t = 3)]
    read_timeout: i32,
    /// Port number the server will listen on.
    #[arg(long, default_value_t = 5050)]
    port_num: u16,
    /// Prepend begin/end times between endpoints (e.g. '5.46 6.81 <text_output>', in seconds)
    #[arg(long)]
    produce_time: bool,
    /// Clients that are served at a time; others wait
    #[arg(long, default_value_t = 1)]
    num_clients: i32,
    /// Most seconds of sound of a client. Memory grows with them, by about 20 kB a second.
    #[arg(long, default_value_t = 14400.0)]
    max_connection_length: f32,
    /// Seconds by which a client may be slower than its sound; then it is disconnected. -1, or --read-timeout=-1: no limit
    #[arg(long, default_value_t = 60.0)]
    max_delay: f32,
}

// What a recognizer is made of.
#[derive(Args, Clone, Debug)]
pub struct RecognitionArgs {
    #[command(flatten)]
    pipeline: PipelineArgs,
    #[command(flatten)]
    recognizer: Group<RecognizerArgs>,
    #[command(flatten)]
    weights: WeightsOptions,
    #[command(flatten)]
    cpu: CpuMathOptions,
}

/// A client that does not take what is sent to it is given up after so many seconds.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Rules of all conversations, and names of words.
struct Rules<'s> {
    conversation: Conversation,
    symbols: &'s SymbolTable,
    read_timeout: Option<Duration>,
}

/// Loads everything, then serves clients until something is wrong with the model or the options.
pub fn serve(args: &ServerArgs, recognition: &RecognitionArgs, files: &Files<'_>) -> Result<u8> {
    let RecognitionArgs { pipeline, recognizer, weights, cpu } = recognition;
    check(recognizer)?;
    // An error now, not at the first client as in the reference.
    let endpoint = recognizer.endpoint.options()?;
    if !(*RATES.start() as f32..=*RATES.end() as f32).contains(&args.samp_freq) {
        bail!("--samp-freq={}: expected from {} to {} Hz", args.samp_freq, RATES.start(), RATES.end());
    }
    let samples = args.chunk_length * args.samp_freq;
    if !(1.0..=1e7).contains(&samples) {
        bail!("--chunk-length={}: expected from 1 to 10000000 samples, found {samples}", args.chunk_length);
    }
    let clients = threads::number("num-clients", args.num_clients.into())?.get();
    let at_startup = threads::number("num-threads-startup", args.num_threads_startup.into())?;
    let features = pipeline.read(|_| {}, at_startup)?;
    let symbols =
        open_symbols(files.words)?.context("expected the name of a symbol table, found an empty one")?;
    let device = cpu.device();
    let scale = recognizer.acoustic_scale;
    let network = load_acoustic_network(files.network, &device, scale, weights.form(&device)?)?;
    let silence_weighting = pipeline.silence_weighting.options()?;
    let graph = read_whole(files.graph, network.transitions.num_transition_ids())?.0.into();
    let model = model(recognizer, network, features, silence_weighting, graph)?;
    let options = RecognizerOptions { endpoint: Some(endpoint), ..model.options().clone() };
    let mut streams =
        (0..clients).map(|_| Stream::new(&model, &options)).collect::<nnet3_online::Result<Vec<_>>>()?;
    let conversation = conversation(args, &model, &mut streams[0])?;
    let port = args.port_num;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
        .map_err(|error| anyhow!("Cannot bind to port: {port} (is it taken?): {error}"))?;
    messages::log(&format!("TcpServer: Listening on port: {port}"));
    // (A duration of 0 would mean no limit.)
    let read_timeout =
        u64::try_from(args.read_timeout).ok().map(|seconds| Duration::from_millis((1000 * seconds).max(1)));
    accept_all(&listener, streams, &Rules { conversation, symbols: &symbols, read_timeout })
}

/// The rules of conversations. An error if the model expects another rate.
fn conversation(args: &ServerArgs, model: &Model, stream: &mut Stream) -> Result<Conversation> {
    let rate = args.samp_freq;
    if stream.accept(rate, &[0.0]).is_err() {
        bail!("Sampling frequency mismatch, expected {}, got {rate}", model.sample_rate());
    }
    let samples = |seconds: f32| (seconds * rate) as u64;
    Ok(Conversation {
        chunk: samples(args.chunk_length) as usize,
        rate,
        output_period: samples(args.output_period).max(1),
        longest: samples(args.max_connection_length),
        patience: Duration::try_from_secs_f32(args.max_delay).ok().filter(|_| args.read_timeout >= 0),
        produce_time: args.produce_time,
    })
}

/// Waits for a client.
fn accept(listener: &TcpListener) -> TcpStream {
    messages::log("Waiting for client...");
    loop {
        match listener.accept() {
            Ok((client, address)) => {
                messages::log(&format!("Accepted connection from: {}", address.ip()));
                return client;
            }
            Err(error) => {
                messages::warn(&format!("A client could not be accepted: {error}"));
                // (There may be too many open files for a while.)
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// Serves clients for ever: one after the other, or each by the next stream that is free.
fn accept_all(listener: &TcpListener, mut streams: Vec<Stream>, rules: &Rules<'_>) -> Result<u8> {
    if let [stream] = streams.as_mut_slice() {
        loop {
            rules.serve(stream, accept(listener));
        }
    }
    let (give, take) = sync_channel(0);
    let take = Mutex::new(take);
    std::thread::scope(|scope| -> Result<u8> {
        let mut threads = 0;
        for stream in &mut streams {
            let serve = |stream: &mut Stream| {
                // (The lock is free again before the client is served.)
                while let Some(client) = next(&take) {
                    rules.serve(stream, client);
                }
            };
            match start_in_or_return(scope, "a client", stream, serve) {
                Ok(_) => threads += 1,
                // One after the other.
                Err(stream) if threads == 0 => loop {
                    rules.serve(stream, accept(listener));
                },
                Err(_) => break,
            }
        }
        loop {
            give.send(accept(listener)).context("all threads that serve clients have ended")?;
        }
    })
}

fn next(take: &Mutex<Receiver<TcpStream>>) -> Option<TcpStream> {
    take.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Rules<'_> {
    /// Serves a client. A failure is the client's alone.
    fn serve(&self, stream: &mut Stream, mut client: TcpStream) {
        let limited = client
            .set_read_timeout(self.read_timeout)
            .and_then(|()| client.set_write_timeout(Some(WRITE_TIMEOUT)));
        if let Err(error) = limited {
            messages::warn(&format!("A client is gone: {error}"));
            return;
        }
        let mut operator = Operator { symbols: self.symbols };
        if let Err(error) = converse(stream, &mut client, &self.conversation, &mut operator) {
            messages::warn(&format!("A client cannot be served any longer: {error}"));
        }
    }
}

/// Logs events.
struct Operator<'s> {
    symbols: &'s SymbolTable,
}

impl Host for Operator<'_> {
    fn word(&self, id: i32) -> Option<String> {
        self.symbols.name(i64::from(id)).map(str::to_owned)
    }

    fn event(&mut self, event: Event) {
        messages::warn(&match event {
            Event::StreamOver => "Stream over...".to_owned(),
            Event::Timeout { bytes } => format!("Socket timeout! Disconnecting...(has_read_ = {bytes})"),
            Event::TooLong => {
                "A client has sent more than --max-connection-length allows. Disconnecting...".to_owned()
            }
            Event::TooSlow => "A client is slower than --max-delay allows. Disconnecting...".to_owned(),
            Event::UnknownWord(word) => no_name(word),
        });
    }
}
