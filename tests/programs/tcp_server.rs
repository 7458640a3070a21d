//! `online2-tcp-nnet3-decode-faster` with hostile clients: it stays up, its memory is bounded, and others get their words.
//!
//! `NNET3_TCP_CLIENTS=200 NNET3_TCP_ZEROS=1073741824` is the run of the record (docs/dev/hostile.md).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{Folder, binary};
use crate::online_programs::{folder, model_folder};

/// A number in the environment, or another one.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// A server, killed at the end of the test, and its log.
struct Server {
    child: Child,
    port: u16,
    log: Arc<Mutex<String>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Server {
    fn start(f: &Folder, options: &[&str]) -> Server {
        let model = model_folder(f);
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut child = Command::new(binary("online2-tcp-nnet3-decode-faster"))
            .args([format!("--port-num={port}"), format!("--mfcc-config={}", f.path("mfcc.conf"))])
            .args(["--acoustic-scale=0.2", "--endpoint.silence-phones=1"])
            .args(options)
            .args([f.path("model"), f.path("HCLG.fst"), format!("{model}/graph/words.txt")])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, copy) = (BufReader::new(child.stderr.take().unwrap()), log.clone());
        std::thread::spawn(move || {
            lines.lines().map_while(Result::ok).for_each(|line| *copy.lock().unwrap() += &(line + "\n"));
        });
        let server = Server { child, port, log };
        let begin = Instant::now();
        while !server.log().contains("Listening on port") {
            assert!(begin.elapsed() < Duration::from_secs(60), "{}", server.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    /// Memory of the process in megabytes.
    fn megabytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }

    /// The lines that an honest client gets.
    fn words(&self) -> String {
        let wave = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav")).unwrap();
        let mut stream = self.connect();
        stream.write_all(&wave[44..]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut lines = String::new();
        stream.read_to_string(&mut lines).unwrap_or_else(|error| {
            // (The last lines of the log may still be on their way.)
            std::thread::sleep(Duration::from_millis(300));
            panic!("{error} after '{lines}': {}", self.log())
        });
        lines
    }
}

/// A bad client of one of five kinds, until the server has enough of it or the test ends.
fn hostile(server: &Server, kind: usize, zeros: usize, end: &AtomicBool) {
    let mut stream = server.connect();
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let is_over = || end.load(Ordering::Relaxed);
    let mut random = fastrand::Rng::with_seed(kind as u64);
    match kind % 5 {
        // Says nothing.
        0 => while !is_over() && stream.read(&mut [0]).is_err() {},
        // A byte now and then.
        1 => {
            while !is_over() && stream.write_all(&[7]).is_ok() {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        // Noise, without reading answers.
        2 => {
            while !is_over() {
                let noise: Vec<u8> = (0..20_000).map(|_| random.u8(..)).collect();
                if stream.write_all(&noise).is_err() {
                    break;
                }
            }
        }
        // Zeros.
        3 => {
            let zero = vec![0; 1 << 16];
            let mut sent = 0;
            while sent < zeros && !is_over() {
                match stream.write(&zero) {
                    Ok(count) => sent += count,
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => break,
                }
            }
        }
        // Goes away in the middle of its words.
        _ => {
            let _gone = stream.write_all(&vec![1; 9999]);
        }
    }
}

#[test]
fn hostile_clients_harm_nobody() {
    let clients = number("NNET3_TCP_CLIENTS", 20);
    let zeros = number("NNET3_TCP_ZEROS", 4 << 20);
    let f = folder("tcp-hostile", false);
    let server = Server::start(
        &f,
        &["--num-clients=8", "--read-timeout=1", "--max-delay=2", "--max-connection-length=20"],
    );
    let expected = server.words();
    assert!(expected.starts_with('w') && expected.ends_with('\n'), "{expected:?}");
    let before = server.megabytes();
    let (end, begin) = (AtomicBool::new(false), Instant::now());
    let mut largest = 0;
    std::thread::scope(|scope| {
        let bad: Vec<_> = (0..clients)
            .map(|kind| {
                let (server, end) = (&server, &end);
                scope.spawn(move || hostile(server, kind, zeros, end))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        let honest: Vec<_> = (0..5).map(|_| scope.spawn(|| server.words())).collect();
        while honest.iter().any(|client| !client.is_finished()) {
            largest = largest.max(server.megabytes());
            std::thread::sleep(Duration::from_millis(20));
        }
        for client in honest {
            assert_eq!(client.join().unwrap(), expected);
        }
        eprintln!("honest clients had their words after {:?}", begin.elapsed());
        // The server itself gives up the others.
        while bad.iter().any(|client| !client.is_finished()) && begin.elapsed() < Duration::from_secs(240) {
            largest = largest.max(server.megabytes());
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{clients} hostile clients were gone after {:?}", begin.elapsed());
        end.store(true, Ordering::Relaxed);
    });
    assert_eq!(server.words(), expected);
    eprintln!("megabytes before {before}, at most {largest}, after {}", server.megabytes());
    assert!(largest < before + 300, "{before} {largest}");
    let log = server.log();
    assert!(log.contains("slower than --max-delay allows") && !log.contains("panicked"), "{log}");
}

/// Such options were an error at the first client, after which there was no server.
#[test]
fn options_that_cannot_work_are_errors_before_it_listens() {
    let f = folder("tcp-options", false);
    let model = model_folder(&f);
    let silence = "--endpoint.silence-phones=1";
    for (options, words) in [
        (&[][..], "Endpointing requires nonempty --endpoint.silence-phones option"),
        (&["--endpoint.silence-phones=x"][..], "--endpoint.silence-phones"),
        (&[silence, "--samp-freq=11025"], "Sampling frequency mismatch, expected 16000, got 11025"),
        (&[silence, "--samp-freq=0"], "--samp-freq=0: expected from 1000 to 192000 Hz"),
        (&[silence, "--chunk-length=0"], "--chunk-length=0: expected from 1 to 10000000 samples"),
    ] {
        let (mfcc, words_file) =
            (format!("--mfcc-config={}", f.path("mfcc.conf")), format!("{model}/graph/words.txt"));
        let files = [f.path("model"), f.path("HCLG.fst"), words_file];
        let mut arguments = vec!["--port-num=0", "--acoustic-scale=0.2", &mfcc];
        arguments.extend(options.iter().copied().chain(files.iter().map(String::as_str)));
        let run = crate::common::run("online2-tcp-nnet3-decode-faster", &arguments);
        assert_eq!(run.status, 255, "{options:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(words) && !run.stderr.contains("Listening"),
            "{options:?}: {}",
            run.stderr
        );
    }
}
