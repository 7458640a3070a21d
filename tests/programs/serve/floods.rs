//! Clients that want all of the server: its memory, its connections, its threads.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use tungstenite::Message;

use super::client::{Server, u7};
use super::{DATA, text};
use crate::online_programs::{folder, model_folder};

/// The words of an honest client, and the time until they are there.
fn honest(server: &Server) -> (String, Duration) {
    let begin = Instant::now();
    let (rate, sound) = u7();
    (text(&server.client().speak(rate, &sound, 3200)), begin.elapsed())
}

/// One socket made the server hold 2.7 GB of answers in 10 s.
#[test]
fn pings_without_reading_fill_no_memory() {
    let f = folder("serve-pings", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &[]);
    let expected = honest(&server).0;
    let before = server.figure("VmHWM");
    let mut ping = vec![0x89, 0x80 | 125, 0, 0, 0, 0];
    ping.extend([b'x'; 125]);
    let pings = ping.repeat(1000);
    let mut clients: Vec<_> = (0..3).map(|_| server.client()).collect();
    let begin = Instant::now();
    for client in &mut clients {
        client.stream().set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        // (The last write waits until the server has enough of it.)
        while begin.elapsed() < Duration::from_secs(2) && client.stream().write_all(&pings).is_ok() {}
    }
    assert_eq!(honest(&server).0, expected);
    let grown = server.figure("VmHWM") - before;
    assert!(grown < 20_000, "{grown} kB");
    // A client that reads its answers has them.
    let mut client = server.client();
    (0..100).for_each(|_| client.send(Message::Ping("x".into())));
    client.send(Message::text("{\"eof\" : 1}"));
    assert_eq!(client.answer(), json!({ "text": "" }));
    server.stop();
}

/// One address took every connection, the liveness probe's included, in spite of --max-sessions-per-address.
#[test]
fn an_address_leaves_connections_for_others_and_for_probes() {
    let f = folder("serve-connections", false);
    let model = model_folder(&f);
    let sound = std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap();
    let server = Server::start(&model, &["--max-sessions-per-address=1", "--max-connections-per-address=5"]);
    let clients: Vec<_> = (0..5).map(|_| server.client()).collect();
    // Connections beyond that which say nothing, more than there are places for probes.
    let silent: Vec<_> = (0..60).map(|_| server.connect()).collect();
    assert_eq!((server.get("/healthz").0, server.get("/readyz").0), (200, 200));
    for (status, answer) in [server.post("/transcribe", &sound, ""), server.get("/")] {
        assert!(status == 503 && answer.contains("your address has 5 connections"), "{status} {answer}");
    }
    assert_eq!(server.client_with("/", &[]).err(), Some(503));
    let begin = Instant::now();
    drop((clients, silent));
    while server.post("/transcribe", &sound, "").0 != 200 {
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
    assert!(server.get("/metrics").1.contains("refused_total{reason=\"address\"} "));
    server.stop();
    // The same for all addresses together.
    let server = Server::start(&model, &["--max-sessions=1", "--max-waiting=0"]);
    let _clients: Vec<_> = (0..101).map(|_| server.client()).collect();
    assert_eq!(server.get("/healthz").0, 200);
    let (status, answer) = server.post("/transcribe", &sound, "");
    assert!(status == 503 && answer.contains("too many connections"), "{status} {answer}");
    server.stop();
}

#[test]
fn recordings_that_arrive_count_as_sessions_of_their_address() {
    let f = folder("serve-uploads", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--max-sessions-per-address=2"]);
    let sound = std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap();
    let mut slow: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream
            .write_all(b"POST /transcribe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx")
            .unwrap();
    }
    let begin = Instant::now();
    loop {
        let (status, answer) = server.post("/transcribe", &sound, "");
        if status == 503 {
            assert!(answer.contains("your address has 2 sessions"), "{answer}");
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
    drop(slow);
    while server.post("/transcribe", &sound, "").0 != 200 {
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
    server.stop();
}

/// As many decoders that stall as there are threads stopped all clients.
#[test]
fn decoders_that_stall_stop_nobody() {
    let f = folder("serve-stalled", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--threads=1", "--max-decoder-wait=3"]);
    let (expected, _) = honest(&server);
    let (rate, samples) = u7();
    let long = super::limits::wave(rate, 100 * samples.len() as u32);
    std::thread::scope(|scope| {
        let posts: Vec<_> = (0..2).map(|_| scope.spawn(|| server.post("/transcribe", &long, ""))).collect();
        let begin = Instant::now();
        while server.children().len() < 2 {
            assert!(begin.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(2));
        }
        let stopped = server.children();
        for child in &stopped {
            assert!(Command::new("kill").args(["-STOP", &child.to_string()]).status().unwrap().success());
        }
        assert_eq!(honest(&server).0, expected);
        for post in posts {
            let (status, answer) = post.join().unwrap();
            assert!(status == 504 && answer.contains("has been silent for 3 s"), "{status} {answer}");
        }
    });
    // They are gone, stopped as they were.
    let begin = Instant::now();
    while !server.children().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", server.children());
        std::thread::sleep(Duration::from_millis(5));
    }
    server.stop();
}

/// A header of 2 kB made the server compute a resampler's table for 11 s.
#[test]
fn rates_that_no_recorder_has_are_refused() {
    let f = folder("serve-rates", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &[]);
    for rate in [16_777_213, 999, 192_001] {
        let begin = Instant::now();
        let (status, answer) = server.post("/transcribe", &super::limits::wave(rate, 1000), "");
        assert!(status == 422 && answer.contains(&rate.to_string()), "{status} {answer}");
        assert!(begin.elapsed() < Duration::from_secs(5), "{rate}");
    }
    server.stop();
}

/// Noise with all alternatives that there may be, beside an honest client.
#[test]
fn noise_with_many_alternatives_delays_nobody_for_long() {
    let f = folder("serve-noise", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--threads=1"]);
    let (expected, alone) = honest(&server);
    let end = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (server, end) = (&server, &end);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                while !end.load(std::sync::atomic::Ordering::Relaxed) {
                    let mut client = server.client();
                    client.config(json!({ "sample_rate": u7().0, "max_alternatives": 100 }));
                    let noise: Vec<u8> = (0..100_000).map(|_| random.u8(..)).collect();
                    client.send_all(&noise, 25_000);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let (found, took) = honest(&server);
        end.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(found, expected);
        assert!(took < 10 * alone + Duration::from_secs(5), "{took:?} after {alone:?}");
    });
    server.stop();
}
