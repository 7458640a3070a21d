//! Limits and refusals.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use tungstenite::Message;

use super::client::{Server, u7};
use crate::online_programs::{folder, model_folder};

/// A wave file of silence.
pub fn wave(rate: u32, samples: u32) -> Vec<u8> {
    let data = 2 * samples;
    let mut bytes = [&b"RIFF"[..], &(36 + data).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0\x01\0"].concat();
    bytes.extend([rate.to_le_bytes(), (2 * rate).to_le_bytes()].concat());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(data.to_le_bytes());
    bytes.resize(bytes.len() + data as usize, 0);
    bytes
}

#[test]
fn a_token_and_origins() {
    let f = folder("serve-token", false);
    let model = model_folder(&f);
    let token = f.write("token", "wonderful-secret\nrest\n");
    let server = Server::start(
        &model,
        &[&format!("--token-file={token}"), "--allow-origin=https://a.example,https://b.example"],
    );
    let status = |path: &str, headers: &[(&'static str, &str)]| server.client_with(path, headers).err();
    assert_eq!(status("/", &[]), Some(401));
    assert_eq!(status("/?token=wonderful-secre", &[]), Some(401));
    assert_eq!(status("/?token=wonderful-secret", &[]), None);
    let bearer = ("authorization", "Bearer wonderful-secret");
    assert_eq!(status("/", &[bearer]), None);
    assert_eq!(status("/", &[bearer, ("origin", "https://evil.example")]), Some(403));
    assert_eq!(status("/", &[bearer, ("origin", "https://b.example")]), None);
    assert_eq!(status("/", &[bearer, ("origin", &format!("http://127.0.0.1:{}", server.port))]), None);
    let sound = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav")).unwrap();
    let (refused, text) = server.post("/transcribe", &sound, "");
    assert!(refused == 401 && text.contains("expected the token of this server"), "{text}");
    assert_eq!(server.post("/transcribe", &sound, "Authorization: Bearer wonderful-secret\r\n").0, 200);
    assert_eq!(server.get("/metrics").0, 401);
    assert_eq!(server.get("/metrics?token=wonderful-secret").0, 200);
    // Probes and the page need none.
    assert_eq!((server.get("/healthz").0, server.get("/").0), (200, 200));
    assert!(!server.log().contains("wonderful"), "{}", server.log());
    server.stop();
}

#[test]
fn a_full_server_refuses() {
    let f = folder("serve-full", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--max-sessions=1", "--max-waiting=1", "--max-wait=3"]);
    let (rate, sound) = u7();
    let piece = || Message::binary(sound[..3200].to_vec());
    let mut clients: Vec<_> = (0..3).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| client.config(json!({ "sample_rate": rate })));
    clients[0].send(piece());
    clients[0].answer();
    // The second one waits, the third and a recording are refused at once; the second one later.
    clients[1].send(piece());
    let begin = Instant::now();
    while !server.get("/healthz").1.contains("\"waiting\":1") {
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
    clients[2].send(piece());
    let (code, reason) = clients[2].close_frame();
    assert!(code == 1013 && reason.contains("1 sessions run and 1 wait"), "{code} {reason}");
    let (status, text) = server.post("/transcribe", b"x", "");
    assert!(status == 503 && text.contains("the server is full"), "{status} {text}");
    assert_eq!(server.get("/readyz").0, 503);
    let (code, reason) = clients[1].close_frame();
    assert!(code == 1013 && reason.contains("no session has ended for 3 s"), "{code} {reason}");
    // The first one goes on, and then there is room again.
    let answers = clients[0].send_all(&sound, 3200);
    assert!(answers.last().unwrap()["text"].is_string(), "{answers:?}");
    assert!(server.client().speak(rate, &sound, 3200).len() > 2);
    let figures = server.get("/metrics").1;
    for line in
        ["refused_total{reason=\"full\"} 2", "refused_total{reason=\"waited\"} 1", "sessions_waiting 0"]
    {
        assert!(figures.contains(line), "{line}: {figures}");
    }
    server.stop();
}

#[test]
fn long_sound_large_messages_and_pauses() {
    let f = folder("serve-limits", false);
    let model = model_folder(&f);
    let server = Server::start(
        &model,
        &["--max-seconds=1", "--max-message=20000", "--max-idle=0.3", "--max-recording=1"],
    );
    let (rate, sound) = u7();
    // More than a second of sound: the words so far, and the reason.
    let mut client = server.client();
    client.config(json!({ "sample_rate": rate }));
    let second: Vec<u8> = sound.iter().cycle().copied().take(2 * rate as usize).collect();
    second.chunks(16000).for_each(|piece| {
        client.send(Message::binary(piece.to_vec()));
        client.answer();
    });
    client.send(Message::binary(vec![0; 2]));
    assert!(client.answer()["text"].is_string());
    let (code, reason) = client.close_frame();
    assert!(code == 1008 && reason.contains("a session may have 1 s of sound"), "{code} {reason}");
    let longer = wave(rate, 3 * rate);
    let (status, text) = server.post("/transcribe", &longer, "");
    assert!(status == 422 && text.contains("longer than 1 seconds"), "{status} {text}");
    // A message that is too large, in one frame.
    let mut client = server.client();
    client.send(Message::binary(vec![0; 30_000]));
    let (code, reason) = client.close_frame();
    assert!(code == 1009 && reason.contains("20000"), "{code} {reason}");
    // A recording that is too large: it is refused before it arrives.
    let (status, text) = server.request(
        b"POST /transcribe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99999999\r\n\r\nx",
    );
    assert!(status == 413 && text.contains("1048576 bytes (--max-recording)"), "{status} {text}");
    // A client with nothing to say, before and after its first sound; pings do not count.
    for first in [false, true] {
        let mut client = server.client();
        if first {
            client.config(json!({ "sample_rate": rate }));
            client.send(Message::binary(sound[..3200].to_vec()));
            client.answer();
        }
        client.send(Message::Ping("x".into()));
        let (code, reason) = client.close_frame();
        assert!(code == 1008 && reason.contains("nothing came for 0.3 s"), "{code} {reason}");
    }
    // A recording that comes too slowly.
    let mut slow = server.connect();
    slow.write_all(b"POST /transcribe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nRIFF")
        .unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    server.stop();
}

#[test]
fn a_server_without_places_for_connections_is_not_ready() {
    let f = folder("serve-places", false);
    let server = Server::start(&model_folder(&f), &["--max-sessions=1", "--max-waiting=0"]);
    assert_eq!(server.get("/readyz").0, 200);
    let mut held: Vec<_> = (0..110).map(|_| server.connect()).collect();
    let (status, text) = server.post("/transcribe", b"x", "");
    assert!(status == 503 && text.contains("too many connections"), "{status} {text}");
    let (status, text) = server.get("/readyz");
    assert!(status == 503 && text.contains("the server is full: too many connections"), "{status} {text}");
    assert_eq!(server.get("/healthz").0, 200);
    // With places again it is ready.
    held.clear();
    let begin = Instant::now();
    while server.get("/readyz").0 != 200 {
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
    server.stop();
}

#[test]
fn an_address_has_its_share() {
    let f = folder("serve-address", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--max-sessions-per-address=2"]);
    let (rate, sound) = u7();
    let mut clients: Vec<_> = (0..3).map(|_| server.client()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.config(json!({ "sample_rate": rate }));
        client.send(Message::binary(sound[..320].to_vec()));
        if i < 2 {
            client.answer();
        }
    }
    let (code, reason) = clients[2].close_frame();
    assert!(code == 1013 && reason.contains("your address has 2 sessions"), "{code} {reason}");
    drop(clients);
    server.stop();
}
