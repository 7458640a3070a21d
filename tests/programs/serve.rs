//! `nnet3-serve` as its clients see it: words, limits, hostile clients, its end.
//!
//! `NNET3_SERVE_MESSAGES` and `NNET3_SERVE_SESSIONS` make two of the tests longer.

mod browsers;
pub mod client;
mod floods;
mod hostile;
mod limits;
mod recordings;
mod speakers;
mod system;

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::Message;

use crate::common;
use crate::online_programs::{folder, model_folder};
use client::{Server, u7};

/// The signal for too much time of the processor.
const XCPU: i32 = 24;
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

/// The text of results.
fn text(answers: &[Value]) -> String {
    let texts = answers.iter().filter_map(|answer| answer["text"].as_str()).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join(" ")
}

/// The text of `nnet3-transcribe`.
fn transcribed(model: &str, format: &str) -> String {
    let run = common::run("nnet3-transcribe", &[format, model, &format!("{DATA}/sound/u7.wav")]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.stdout
}

#[test]
fn sockets_have_the_words_of_nnet3_transcribe() {
    let f = folder("serve-words", false);
    let model = model_folder(&f);
    // A rule that ends sentences soon, so that there are several.
    let settings = std::fs::read_to_string(format!("{model}/conf/model.conf")).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.5\n";
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    let expected: Value = serde_json::from_str(&transcribed(&model, "--format=json")).unwrap();
    let server = Server::start(&model, &[]);
    let mut client = server.client();
    let answers = client.speak(u7().0, &u7().1, 6400);
    assert_eq!(text(&answers), expected["text"].as_str().unwrap());
    // Sentences with their words, times and confidences.
    let results: Vec<&Value> = answers.iter().filter(|answer| answer.get("result").is_some()).collect();
    let segments = expected["segments"].as_array().unwrap();
    assert!(segments.len() > 1, "{expected}");
    assert_eq!(results.len(), segments.len());
    for (result, segment) in results.iter().zip(segments) {
        assert_eq!(result["result"], segment["words"]);
    }
    assert!(answers.iter().any(|answer| answer.get("partial").is_some()));
    assert!(client.ended(), "the server closes after eof");
    // Four at the same time, also in other pieces, without words.
    std::thread::scope(|scope| {
        for size in [2000, 3200, 3201, 20_000] {
            let (server, whole) = (&server, &answers);
            scope.spawn(move || {
                let mut client = server.client();
                client.config(json!({ "sample_rate": u7().0, "words": 0 }));
                let answers = client.send_all(&u7().1, size);
                assert_eq!(text(&answers), text(whole), "messages of {size} bytes");
                assert!(answers.iter().all(|answer| answer.get("result").is_none()), "{answers:?}");
            });
        }
    });
    server.stop();
}

#[test]
fn recordings_have_the_words_of_nnet3_transcribe() {
    let f = folder("serve-recordings", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &[]);
    for file in ["u7.wav", "u7.flac"] {
        let sound = std::fs::read(format!("{DATA}/sound/{file}")).unwrap();
        for (format, of_program) in [("srt", "--format=srt"), ("vtt", "--format=vtt")] {
            let (status, body) = server.post(&format!("/transcribe?format={format}"), &sound, "");
            assert_eq!((status, body), (200, transcribed(&model, of_program)));
        }
        let (status, body) = server.post("/transcribe?format=text", &sound, "");
        assert_eq!((status, format!("u7 {body}")), (200, transcribed(&model, "--format=text")));
        let (status, body) = server.post("/transcribe?name=u7", &sound, "");
        assert_eq!((status, body), (200, transcribed(&model, "--format=json")));
    }
    for (path, body, status, words) in [
        ("/transcribe", &b""[..], 400, "expected a recording, found no bytes"),
        ("/transcribe?format=doc", b"x", 400, "format: expected json, text, srt or vtt, found 'doc'"),
        ("/transcribe", b"hello, this is no sound", 422, "the recording"),
        (
            "/nowhere",
            b"",
            404,
            "{\"error\":\"there is no /nowhere; there is GET / (page and WebSocket), POST /transcribe",
        ),
        ("/healthz", b"", 405, "{\"error\":\"/healthz does not take POST; there is GET / "),
        ("/v1/audio/translations", b"", 404, "{\"error\":{\"message\":\"there is no /v1/audio/translations"),
        ("/v1/models", b"", 405, "{\"error\":{\"message\":\"/v1/models does not take POST"),
    ] {
        let found = server.post(path, body, "");
        assert!(found.0 == status && found.1.contains(words), "{path}: {found:?}");
    }
    let (status, other) = server.get("/v1/models/whisper-1");
    assert!(
        status == 404 && other.contains("the only model is nnet3") && other.contains("\"type\":"),
        "{other}"
    );
    let (status, own) = server.get("/v1/models/nnet3");
    assert!(status == 200 && own.starts_with("{\"") && own.contains("\"id\":\"nnet3\""), "{own}");
    // A path of any bytes, and the methods that a path takes.
    let request = |line: &str| {
        server.exchange(format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
    };
    for line in [
        "GET /%ff%00\"",
        "GET /transcribe",
        "PUT /transcribe",
        "DELETE /v1/models/%ff",
        "GET /v1/x?token=%ff",
    ] {
        let (head, body) = request(line);
        let status = head.split(' ').nth(1).unwrap();
        assert!(["404", "405"].contains(&status) && head.contains("application/json"), "{line}: {head}");
        assert!(serde_json::from_str::<Value>(&body).unwrap().get("error").is_some(), "{line}: {body}");
        assert!(status == "404" || head.contains("\r\nallow: "), "{line}: {head}");
    }
    let (status, health) = server.get("/healthz");
    assert_eq!((status, health.as_str()), (200, "{\"status\":\"ok\",\"sessions\":0,\"waiting\":0}\n"));
    let figures = server.get("/metrics").1;
    assert!(figures.contains("nnet3_serve_sessions_total{kind=\"recording\"} 9\n"), "{figures}");
    let (status, page) = server.get("/");
    assert!(status == 200 && page.starts_with("<!DOCTYPE html>"), "{page}");
    server.stop();
}

/// A server decodes each recording in a process of its own. That process writes a wave with the same samples.
#[test]
fn a_decoder_is_a_process_of_its_own() {
    use std::process::{Command, Stdio};
    let program = || {
        let mut command = Command::new(common::binary("nnet3-serve"));
        command.args(["--decode", "--print-args=false"]);
        command
    };
    let decode =
        |file: &str| program().stdin(Stdio::from(std::fs::File::open(file).unwrap())).output().unwrap();
    let found = decode(&format!("{DATA}/sound/u7.flac"));
    assert!(found.status.success() && found.stderr.is_empty(), "{found:?}");
    let (rate, samples) = u7();
    assert_eq!(found.stdout[24..28], rate.to_le_bytes());
    assert_eq!(found.stdout[44..], samples);
    let found = decode(&format!("{DATA}/../programs/serve.rs"));
    let error = String::from_utf8_lossy(&found.stderr);
    assert!(!found.status.success() && error.starts_with("the recording"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");

    // It has limits of memory and time. (A wave without a length does not end.)
    let input = || Stdio::from(std::fs::File::open(format!("{DATA}/sound/u7.flac")).unwrap());
    let found = program().arg("--max-decoder-memory=0").stdin(input()).output().unwrap();
    let error = String::from_utf8_lossy(&found.stderr);
    assert!(!found.status.success() && error.contains("memory"), "{error}");
    let header = [
        &b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0"[..],
        b"data\xff\xff\xff\xff",
    ];
    let mut endless =
        program().arg("--max-decoder-seconds=1").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut pipe = endless.stdin.take().unwrap();
    pipe.write_all(&header.concat()).unwrap();
    while pipe.write_all(&[0; 1 << 16]).is_ok() {}
    assert_eq!(endless.wait().unwrap().signal(), Some(XCPU));
}

#[test]
fn messages_of_vosk_server() {
    let f = folder("serve-protocol", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--threads=1"]);
    let (rate, sound) = u7();
    // The end without sound.
    let mut client = server.client();
    client.send(Message::text("{\"eof\" : 1}"));
    assert_eq!((client.answer(), client.ended()), (json!({ "text": "" }), true));
    // An empty message, and a second sound after a reset: its times go on.
    let mut client = server.client();
    client.config(json!({ "sample_rate": rate }));
    client.send(Message::binary(Vec::new()));
    assert_eq!(client.answer(), json!({ "partial": "" }));
    let mut results = Vec::new();
    for _ in 0..2 {
        sound.chunks(8000).for_each(|piece| {
            client.send(Message::binary(piece.to_vec()));
            client.answer();
        });
        client.send(Message::text("{\"reset\" : 1}"));
        results.push(client.answer());
    }
    assert_eq!(results[0]["text"], results[1]["text"]);
    let seconds = sound.len() as f64 / 2.0 / f64::from(rate);
    for (first, second) in
        results[0]["result"].as_array().unwrap().iter().zip(results[1]["result"].as_array().unwrap())
    {
        let later = second["start"].as_f64().unwrap() - first["start"].as_f64().unwrap();
        assert!((later - seconds).abs() < 0.002, "{first} {second} {seconds}");
    }
    drop(client);
    // Messages with an odd number of bytes: the odd byte belongs to the next sample.
    let even = text(&server.client().speak(rate, &sound, 6400));
    for size in [6401, 3201, 333] {
        assert_eq!(text(&server.client().speak(rate, &sound, size)), even, "{size}");
    }
    // Values as texts, as some clients send them, and keys without a meaning, which the log names once.
    let mut client = server.client();
    for _ in 0..2 {
        client.config(
            json!({ "sample_rate": rate.to_string(), "max_alternatives": "2", "lang": "en", "spk": 1 }),
        );
    }
    let last = client.send_all(&sound, 6400).pop().unwrap();
    assert!((1..=2).contains(&last["alternatives"].as_array().unwrap().len()), "{last}");
    server.wait_for("config: keys without a meaning here: lang, spk");
    assert_eq!(server.log().matches("without a meaning").count(), 1, "{}", server.log());
    // Messages that are none.
    for (message, words) in [
        (Message::text("hello"), "expected JSON, found 'hello'"),
        (Message::text("{\"config\": {\"model\": \"x\"}}"), "this server has one model"),
        (Message::text("{\"config\": {\"sample_rate\": 3}}"), "from 1000 to 192000, found 3"),
    ] {
        let mut client = server.client();
        client.send(message);
        let answer = client.answer();
        assert!(answer["error"].as_str().unwrap().contains(words), "{answer}");
        let (code, reason) = client.close_frame();
        assert!(code == 1008 && reason.contains(words), "{code} {reason}");
    }
    // Several texts of a sentence, the best first, with and without words.
    for words in [true, false] {
        let mut client = server.client();
        client.config(json!({ "sample_rate": rate, "max_alternatives": 3, "words": words }));
        let last = client.send_all(&sound, 6400).pop().unwrap();
        let texts = last["alternatives"].as_array().unwrap();
        assert!((1..=3).contains(&texts.len()), "{last}");
        assert!(texts[0]["text"].as_str().unwrap().starts_with('w'), "{last}");
        assert!(texts.iter().all(|text| text["confidence"].is_number()), "{last}");
        assert_eq!(texts[0].get("result").is_some(), words, "{last}");
    }
    // Phrases need another kind of graph than this model has.
    let mut client = server.client();
    client.config(json!({ "sample_rate": rate, "phrase_list": ["w1 w2"] }));
    client.send(Message::binary(sound[..3200].to_vec()));
    assert!(
        client.answer()["error"]
            .as_str()
            .unwrap()
            .contains("phrases need a model with a graph of two halves")
    );
    // Rates of the recogniser cannot change. A rate below the model's is taken, with a warning in the log.
    drop(client);
    let mut client = server.client();
    client.config(json!({ "sample_rate": rate }));
    client.send(Message::binary(sound[..3200].to_vec()));
    client.answer();
    client.config(json!({ "sample_rate": rate, "words": false }));
    client.config(json!({ "sample_rate": rate + 1 }));
    assert!(client.answer()["error"].as_str().unwrap().contains("the sound so far has"));
    drop(client);
    let mut client = server.client();
    client.config(json!({ "sample_rate": 4000 }));
    client.send(Message::binary(sound[..3200].to_vec()));
    assert!(client.answer()["partial"].is_string());
    server.wait_for("the sound has 4000 Hz, and so nothing from 2 to 8 kHz");
    server.stop();
}

#[test]
fn running_sessions_end_after_sigterm() {
    let f = folder("serve-sigterm", false);
    let model = model_folder(&f);
    let mut server = Server::start(&model, &[]);
    let (rate, sound) = u7();
    let [mut running, mut silent] = [server.client(), server.client()];
    running.config(json!({ "sample_rate": rate }));
    running.send(Message::binary(sound[..3200].to_vec()));
    running.answer();
    server.signal("TERM");
    server.wait_for("Stopping: no new sessions, 1 still run");
    // A session without sound is told at once, and so is a new one; figures are still there.
    assert_eq!(silent.close_frame().0, 1012);
    assert_eq!(server.get("/healthz").1, "{\"status\":\"stopping\",\"sessions\":1,\"waiting\":0}\n");
    assert_eq!(server.get("/readyz").0, 503);
    assert_eq!(server.post("/transcribe", b"x", "").0, 503);
    assert_eq!(server.client().close_frame().0, 1012);
    // The running session gets all its words.
    let answers = running.send_all(&sound[3200..], 3200);
    assert!(text(&answers).starts_with('w'), "{answers:?}");
    assert_eq!(server.status(Duration::from_secs(60)), Some(0));
    server.wait_for("Stopped");
}

#[test]
fn a_second_signal_ends_at_once() {
    let f = folder("serve-signals", false);
    let model = model_folder(&f);
    let mut server = Server::start(&model, &[]);
    let mut running = server.client();
    running.config(json!({ "sample_rate": u7().0 }));
    running.send(Message::binary(u7().1[..3200].to_vec()));
    running.answer();
    server.signal("INT");
    server.wait_for("1 still run");
    let begin = std::time::Instant::now();
    server.signal("INT");
    assert_eq!(server.status(Duration::from_secs(10)), Some(0));
    // (It waited five seconds for the session's last answer.)
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[test]
fn options_that_serve_nobody() {
    let f = folder("serve-options", false);
    let model = model_folder(&f);
    let short = f.write("short", "abc\n");
    for (options, words) in [
        (&["--max-sessions=0"][..], "--max-sessions=0: expected from 1 to 100000 sessions at a time"),
        (&["--max-waiting=200000"], "--max-waiting=200000: expected at most 100000"),
        (&["--max-idle=-1"], "--max-idle=-1: expected from 0 to 1000000 seconds"),
        (&["--max-idle=0"], "--max-idle=0: expected above 0 seconds"),
        (&["--max-upload=0"], "--max-upload=0: expected above 0 seconds"),
        (&["--max-decoder-wait=0"], "--max-decoder-wait=0: expected above 0 seconds"),
        (&["--max-seconds=0"], "--max-seconds=0: expected above 0"),
        (&["--max-message=10"], "--max-message=10: expected from 1000 to 1073741824 bytes"),
        (&["--max-recording=0"], "--max-recording=0: expected from 1 to"),
        (&["--max-decoder-seconds=0"], "--max-decoder-seconds=0: expected at least 1"),
        (&["--max-decoder-memory=0"], "--max-decoder-memory=0: expected at least 1"),
        (
            &["--max-decoder-memory=1"],
            "--max-decoder-memory=1, --max-decoder-seconds=300: recordings cannot be decoded",
        ),
        (&["--allow-origin=example.org"], "--allow-origin=example.org: expected *, or a scheme and a host"),
        (&["--allow-origin=https://example.org/"], "--allow-origin=https://example.org/: expected"),
        (
            &["--host-names=speech.example:80"],
            "--host-names=speech.example:80: expected *, or a name without scheme",
        ),
        (&["--sample-rate=999999"], "--sample-rate=999999: expected a rate from 1000 to 192000 Hz"),
        (&[&format!("--token-file={short}")], "at least 8 ASCII characters without blanks, found one of 3"),
        (&["--token-file=/nowhere/token"], "--token-file=/nowhere/token"),
        (
            &["--token-file=/dev/zero"],
            "--token-file=/dev/zero: expected a first line of at most 8192 bytes, found a longer one",
        ),
        (&["--threads=100000"], "--threads=100000: expected a number of threads from 1 to 1024"),
        (&["--threads=-1"], "--threads=-1: expected a number of threads from 1 to 1024"),
        (&["--listen=nowhere"], "nowhere"),
        (&["--listen=192.0.2.1", "--token-file="], "cannot listen on 192.0.2.1:"),
        (&["--sample-rate=300"], "--sample-rate=300: expected a rate from 1000 to 192000 Hz"),
    ] {
        let run = common::run("nnet3-serve", &[&["--port=0"], options, &[&model]].concat());
        assert!(run.status != 0 && run.stderr.contains(words), "{options:?}: {}", run.stderr);
    }
    // A port that is taken is found before the model is read.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    std::fs::remove_file(format!("{model}/graph/HCLG.fst")).unwrap();
    for options in
        [vec![format!("--port={port}")], vec!["--port=0".to_owned(), format!("--wyoming-port={port}")]]
    {
        let options: Vec<&str> = options.iter().map(String::as_str).chain([model.as_str()]).collect();
        let run = common::run("nnet3-serve", &options);
        let words = format!("cannot listen on 127.0.0.1:{port}: Address already in use");
        let hint =
            format!("; {}N takes another port", &options[options.len() - 2].replace(&port.to_string(), ""));
        assert!(run.status == 255 && run.stderr.contains(&words), "{}", run.stderr);
        assert!(run.stderr.contains(&hint), "{hint}: {}", run.stderr);
    }
    let none = common::run("nnet3-serve", &["--port=0"]);
    assert!(none.stderr.contains("expected the folder of a model"), "{}", none.stderr);
}
