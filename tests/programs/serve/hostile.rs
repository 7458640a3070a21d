//! Clients that are slow, half open, noisy or random; and many sessions.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use tungstenite::Message;

use super::client::{Client, Server, u7};
use super::text;
use crate::online_programs::{folder, model_folder};

/// A number in the environment, or another one.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// Text that may be a message, or nearly.
fn random_text(random: &mut fastrand::Rng) -> String {
    let values = ["1", "0", "-1", "1e999", "\"x\"", "null", "[]", "{}", "true", "16000", "8000.5", "[[[["];
    let keys =
        ["config", "eof", "reset", "sample_rate", "words", "max_alternatives", "phrase_list", "model", "é"];
    let pair = |random: &mut fastrand::Rng| {
        format!("\"{}\": {}", random.choice(keys).unwrap(), random.choice(values).unwrap())
    };
    match random.u8(0..6) {
        0 => (0..random.usize(0..200)).map(|_| random.char(..)).collect(),
        1 => "[".repeat(random.usize(0..5000)),
        2 => format!("{{{}}}", pair(random)),
        3 => format!("{{\"config\": {{{}, {}}}}}", pair(random), pair(random)),
        4 => format!("{{\"config\": {{{}", pair(random)),
        _ => ["{\"eof\" : 1}", "{\"reset\" : 1}", "{\"config\": {\"sample_rate\": 16000}}"]
            [random.usize(0..3)]
        .to_owned(),
    }
}

/// Bytes that may be a request, a frame, or neither.
fn random_bytes(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..random.usize(0..3000)).map(|_| random.u8(..)).collect();
    let begins: [&[u8]; 5] = [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"POST /transcribe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /transcribe HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\nRIFF",
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
          Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    ];
    bytes.splice(0..0, random.choice(begins).unwrap().iter().copied());
    bytes
}

/// A recording with some bytes changed, or cut.
fn damaged(random: &mut fastrand::Rng, sound: &[u8]) -> Vec<u8> {
    let mut sound = sound.to_vec();
    for _ in 0..random.usize(1..20) {
        let at =
            if random.bool() { random.usize(..sound.len().min(200)) } else { random.usize(..sound.len()) };
        sound[at] = random.u8(..);
    }
    if random.bool() {
        sound.truncate(random.usize(1..sound.len()));
    }
    sound
}

/// The words of an honest client.
fn honest(server: &Server) -> String {
    let (rate, sound) = u7();
    text(&server.client().speak(rate, &sound, 3200))
}

/// `NNET3_SERVE_MESSAGES=10000` is the run of the record (docs/server.md).
#[test]
fn random_messages_do_no_harm() {
    let messages = number("NNET3_SERVE_MESSAGES", 400);
    let f = folder("serve-random", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--max-message=20000", "--max-seconds=20", "--max-idle=5"]);
    let expected = honest(&server);
    assert!(!expected.is_empty());
    let waves: Vec<Vec<u8>> = ["u7.wav", "u7.flac"]
        .map(|name| std::fs::read(format!("{}/sound/{name}", super::DATA)).unwrap())
        .into();
    let mut random = fastrand::Rng::with_seed(7);
    let mut client: Option<Client> = None;
    for _ in 0..messages {
        match random.u8(0..20) {
            0 => {
                let mut stream = server.connect();
                stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                let _gone = stream.write_all(&random_bytes(&mut random));
                let _answer = stream.read(&mut [0; 100]);
            }
            1 => {
                let sound = &waves[random.usize(0..2)];
                let (status, _) = server.post("/transcribe", &damaged(&mut random, sound), "");
                assert!([200, 413, 422].contains(&status), "{status}");
            }
            2 => client = None,
            kind => {
                let client = client.get_or_insert_with(|| server.client());
                match kind {
                    3 => client.send(Message::Ping(vec![1; random.usize(0..126)].into())),
                    4 => {
                        let _gone = client.stream().write_all(&[random.u8(..), random.u8(..), random.u8(..)]);
                    }
                    5..12 => client.send(Message::text(random_text(&mut random))),
                    _ => {
                        let most = if random.u8(0..30) == 0 { 30_000 } else { 2000 };
                        let size = random.usize(0..most);
                        client.send(Message::binary((0..size).map(|_| random.u8(..)).collect::<Vec<u8>>()));
                    }
                }
            }
        }
        if random.u8(0..8) == 0 {
            client = None;
        }
    }
    drop(client);
    assert_eq!(honest(&server), expected);
    server.stop();
}

/// `NNET3_SERVE_SESSIONS=1000` is the run of the record (docs/server.md).
#[test]
fn many_sessions_leave_nothing_behind() {
    let sessions = number("NNET3_SERVE_SESSIONS", 60);
    let f = folder("serve-many", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--threads=2"]);
    let (rate, sound) = u7();
    let wave = std::fs::read(format!("{}/sound/u7.flac", super::DATA)).unwrap();
    let mut figures = Vec::new();
    for session in 1..=sessions {
        match session % 5 {
            // A client that goes away, and a recording.
            1 => {
                let mut client = server.client();
                client.config(json!({ "sample_rate": rate }));
                client.send(Message::binary(sound.clone()));
            }
            2 => assert_eq!(server.post("/transcribe", &wave, "").0, 200),
            _ => assert!(!text(&server.client().speak(rate, &sound, 8000)).is_empty()),
        }
        if session == 10 || session == sessions {
            figures.push((server.figure("VmRSS"), server.figure("Threads")));
        }
    }
    eprintln!("kB and threads after 10 and after {sessions} sessions: {figures:?}");
    let [(memory, threads), (memory_after, threads_after)] = figures[..] else { panic!("{figures:?}") };
    assert_eq!(threads_after, threads);
    assert!(memory_after < memory + memory / 4 + 8000, "{figures:?}");
    server.stop();
}

/// Bad clients hold connections; an honest one gets its words, soon.
#[test]
fn slow_half_open_and_noisy_clients_harm_nobody() {
    let f = folder("serve-slow", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--max-sessions=40", "--threads=2"]);
    let alone = Instant::now();
    let expected = honest(&server);
    let alone = alone.elapsed();
    // Connections that say nothing, that say half a request, that say a letter at a time.
    let silent: Vec<_> = (0..10).map(|_| server.connect()).collect();
    let mut half: Vec<_> = (0..10).map(|_| server.connect()).collect();
    half.iter_mut().for_each(|stream| stream.write_all(b"POST /transcribe HTTP/1.1\r\nHos").unwrap());
    // Sessions that never read their answers, and sessions that stop in the middle of a frame.
    let mut deaf: Vec<Client> = (0..10).map(|_| server.client()).collect();
    for client in &mut deaf {
        client.config(json!({ "sample_rate": 16000 }));
        (0..20).for_each(|_| client.send(Message::binary(vec![0; 320])));
    }
    let mut cut: Vec<Client> = (0..10).map(|_| server.client()).collect();
    cut.iter_mut().for_each(|client| client.stream().write_all(&[0x82, 0xfe, 0x10]).unwrap());
    // Sessions with noise as fast as the server takes it, while an honest one speaks.
    let end = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (server, end) = (&server, &end);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut client = server.client();
                client.config(json!({ "sample_rate": 16000 }));
                while !end.load(std::sync::atomic::Ordering::Relaxed) {
                    client.send(Message::binary((0..6400).map(|_| random.u8(..)).collect::<Vec<u8>>()));
                    client.answer();
                }
            });
        }
        let begin = Instant::now();
        let found = honest(&server);
        let took = begin.elapsed();
        end.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(found, expected);
        // (Four others that are never idle have the same right to the threads.)
        assert!(took < 20 * alone + Duration::from_secs(5), "{took:?} after {alone:?}");
    });
    // The server gives up those that do not end their headers.
    let begin = Instant::now();
    for stream in silent.into_iter().chain(half) {
        let mut stream = stream;
        let mut rest = Vec::new();
        let _reset = stream.read_to_end(&mut rest);
        assert!(begin.elapsed() < Duration::from_secs(20), "{rest:?}");
    }
    assert_eq!(honest(&server), expected);
    drop((deaf, cut));
    server.stop();
}
