//! Recordings over HTTP: channels, parameters, rates, and their lines in the log.

use serde_json::Value;

use super::client::{Server, u7};
use crate::common;
use crate::online_programs::{folder, model_folder};

/// A wave file of these channels of samples of 16 bits, as long as the first one.
fn wave(rate: u32, channels: &[&[u8]]) -> Vec<u8> {
    let (count, frame) = (channels.len() as u16, 2 * channels.len() as u16);
    let data: Vec<u8> = (0..channels[0].len() / 2)
        .flat_map(|i| channels.iter().flat_map(move |channel| channel[2 * i..2 * i + 2].to_vec()))
        .collect();
    let mut bytes =
        [&b"RIFF"[..], &(36 + data.len() as u32).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0"].concat();
    bytes.extend(count.to_le_bytes());
    bytes.extend([rate.to_le_bytes(), (u32::from(frame) * rate).to_le_bytes()].concat());
    bytes.extend([frame.to_le_bytes(), 16u16.to_le_bytes()].concat());
    bytes.extend(b"data");
    bytes.extend((data.len() as u32).to_le_bytes());
    [bytes, data].concat()
}

/// The head and the body of the answer to a form with a recording.
fn post_form(server: &Server, path: &str, sound: &[u8], fields: &[(&str, &str)]) -> (String, String) {
    let mut form =
        b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"two.wav\"\r\n\r\n".to_vec();
    form.extend(sound);
    form.extend(b"\r\n");
    for (name, value) in fields {
        let field = format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        form.extend(field.into_bytes());
    }
    form.extend(b"--x--\r\n");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n",
        form.len()
    );
    server.exchange(&[head.into_bytes(), form].concat())
}

fn json(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

#[test]
fn channels_are_those_of_nnet3_transcribe() {
    let f = folder("serve-channels", false);
    let model = model_folder(&f);
    let (rate, sound) = u7();
    let quiet = vec![0; sound.len()];
    let two = wave(rate, &[&quiet, &sound]);
    std::fs::write(f.path("two.wav"), &two).unwrap();
    let transcribed = |options: &[&str]| {
        let run = common::run("nnet3-transcribe", &[options, &[&model, &f.path("two.wav")]].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        run.stdout
    };
    let server = Server::start(&model, &[]);
    let silent = "channel 1 is silent, but channel 2 is not";
    for channels in ["each", "mix", "1", "2", "first"] {
        for format in ["json", "text", "srt"] {
            let expected = transcribed(&[&format!("--channels={channels}"), &format!("--format={format}")]);
            // (Lines of text begin with the name.)
            let expected = match format {
                "text" => expected
                    .lines()
                    .map(|line| line.strip_prefix("two").unwrap().trim_start().to_owned() + "\n")
                    .collect(),
                // (The first channel is silent. nnet3-transcribe says so on standard error.)
                "json" if channels != "mix" && channels != "2" => {
                    let hint = if channels == "each" { "" } else { "; channels=2 takes that one" };
                    let mut value = json(&expected);
                    value["warnings"] = serde_json::json!([format!("{silent}{hint}")]);
                    format!("{value}\n")
                }
                _ => expected,
            };
            let query = format!("/transcribe?name=two&format={format}&channels={channels}");
            assert_eq!(server.post(&query, &two, ""), (200, expected.clone()), "{query}");
            let (_, body) =
                post_form(&server, "/transcribe", &two, &[("format", format), ("channels", channels)]);
            assert_eq!(body, expected, "a form with {format} and {channels}");
        }
    }
    let each = json(&server.post("/transcribe?channels=each", &two, "").1);
    assert!(each["segments"].as_array().unwrap().iter().all(|segment| segment["channel"] == 2), "{each}");
    assert!(
        each["warnings"] == serde_json::json!([silent]) && each["segments"][0]["words"].is_array(),
        "{each}"
    );

    // Without a choice: the first channel, and words about it, in the answer and in the log.
    let alone = format!("{silent}; channels=2 takes that one");
    let warning = "the first of 2 channels is taken; channels=each, mix or a number chooses others";
    let (head, body) = post_form(&server, "/transcribe", &two, &[]);
    assert_eq!(
        (&json(&body)["text"], &json(&body)["warnings"]),
        (&"".into(), &serde_json::json!([warning, alone]))
    );
    for warning in [warning, &alone] {
        assert!(head.contains(&format!("x-recording-warning: {warning}")), "{head}");
    }
    server.wait_for(&format!(
        "/transcribe: status 200, {:.2} s of sound, ",
        sound.len() as f64 / 2.0 / f64::from(rate)
    ));
    server.wait_for(&format!(" s: {warning}; {alone}"));
    // OpenAI's interface mixes, as OpenAI's service does, unless the form says otherwise.
    let mix = server.post("/transcribe?format=text&channels=mix", &two, "").1;
    let path = "/v1/audio/transcriptions";
    assert_eq!(json(&post_form(&server, path, &two, &[]).1)["text"], mix.trim_end());
    let first = post_form(&server, path, &two, &[("channels", "first"), ("response_format", "text")]);
    assert_eq!(first.1, "\n");
    let verbose = [("channels", "each"), ("response_format", "verbose_json")];
    let verbose = json(&post_form(&server, path, &two, &verbose).1);
    assert_eq!(verbose["segments"][0]["channel"], 2, "{verbose}");

    let many = wave(rate, &vec![&quiet[..3200]; 17]);
    for (query, recording, status, words) in [
        ("channels=3", &two, 422, "the recording has no channel 3: expected a number from 1 to 2"),
        (
            "channels=both",
            &two,
            400,
            "channels: expected first, each, mix, or the number of a channel from 1; found 'both'",
        ),
        ("channels=each", &many, 422, "channels=each: expected at most 16 channels, found 17"),
    ] {
        let (found, text) = server.post(&format!("/transcribe?{query}"), recording, "");
        assert!(found == status && text.contains(words), "{query}: {found} {text}");
        server.wait_for(&format!("/transcribe: status {status}, "));
    }
    server.stop();
}

#[test]
fn unknown_parameters_are_named() {
    let f = folder("serve-parameters", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &[]);
    let (rate, sound) = u7();
    let one = wave(rate, &[&sound]);
    let expected = "expected the parameters format, name, channels, speakers; found";
    let (status, text) = server.post("/transcribe?channel=1&language=en", &one, "");
    assert!(status == 400 && text.contains(&format!("{expected} channel, language\"")), "{status} {text}");
    let (head, text) = post_form(&server, "/transcribe", &one, &[("channel", "1")]);
    assert!(head.starts_with("http/1.1 400 ") && text.contains(&format!("{expected} channel\"")), "{text}");
    // Other servers of OpenAI's interface have more fields: a warning. Its own ones without a meaning here have none.
    let path = "/v1/audio/transcriptions";
    let fields = [("temperature", "0"), ("include[]", "logprobs"), ("user", "a"), ("language", "en")];
    let (head, text) = post_form(&server, path, &one, &fields);
    assert!(head.starts_with("http/1.1 200 ") && !head.contains("x-recording-warning"), "{head} {text}");
    let (head, _) = post_form(&server, &format!("{path}?api-version=1"), &one, &[("vad_filter", "true")]);
    let warning = "parameters without a meaning here: api-version, vad_filter";
    assert!(head.contains(&format!("x-recording-warning: {warning}")), "{head}");
    server.wait_for(warning);
    server.stop();
}

#[test]
fn sound_of_a_lower_rate_is_taken_with_a_warning() {
    let f = folder("serve-rate", false);
    let model = model_folder(&f);
    let file = format!("{model}/conf/mfcc.conf");
    let conf = std::fs::read_to_string(&file).unwrap() + "--sample-frequency=32000\n";
    std::fs::write(&file, conf).unwrap();
    let (rate, sound) = u7();
    let one = wave(rate, &[&sound]);
    let reason = format!(
        "the sound has {rate} Hz, and the model of this server needs 32000 Hz or more; a server that is started with \
         --allow-upsample=true takes it"
    );
    let server = Server::start(&model, &["--allow-upsample=false"]);
    let (status, text) = server.post("/transcribe", &one, "");
    assert!(status == 422 && text.contains(&reason), "{status} {text}");
    let mut client = server.client();
    client.config(serde_json::json!({ "sample_rate": rate }));
    client.send(tungstenite::Message::binary(sound[..3200].to_vec()));
    let answer = client.answer();
    assert!(answer["error"].as_str().unwrap().contains(&reason), "{answer}");
    // The page knows the rate.
    assert!(server.get("/").1.contains("data-rate=\"32000\""));
    server.stop();
    // By default the sound is taken, and the client and the log have one warning.
    let server = Server::start(&model, &[]);
    let (status, text) = server.post("/transcribe?format=text", &one, "");
    assert!(status == 200 && text.starts_with('w'), "{status} {text}");
    let missing = "the sound has 16000 Hz, and so nothing from 8 to 16 kHz, which the model (for 32000 Hz) was trained with";
    let (status, text) = server.post("/transcribe", &one, "");
    let warnings = json(&text)["warnings"].clone();
    assert!(status == 200 && warnings.as_array().unwrap().len() == 1, "{status} {text}");
    assert!(warnings[0].as_str().unwrap().starts_with(missing), "{text}");
    let mut client = server.client();
    client.config(serde_json::json!({ "sample_rate": rate }));
    client.send(tungstenite::Message::binary(sound[..3200].to_vec()));
    assert!(client.answer()["partial"].is_string());
    server.wait_for(&format!(": {missing}"));
    server.stop();
}

/// As in `nnet3-transcribe` and its relatives.
#[test]
fn options_may_stand_behind_the_model() {
    let f = folder("serve-behind", false);
    let model = model_folder(&f);
    let run = common::run("nnet3-serve", &[&model, "--prot=2701"]);
    assert!(run.status == 255 && run.stderr.contains("--port"), "{}", run.stderr);
    let run = common::run("nnet3-serve", &[&model, "--max-sessions=0"]);
    assert!(run.stderr.contains("--max-sessions=0: expected"), "{}", run.stderr);
}

/// The objects of server-sent events in the body of an answer, whose pieces have their lengths before them.
fn events(body: &str) -> Vec<serde_json::Value> {
    body.lines().filter_map(|line| line.strip_prefix("data: ")).map(json).collect()
}

/// `stream=true` of OpenAI's interface: a sentence at a time, and the same text at the end.
#[test]
fn sentences_come_as_events() {
    let f = folder("serve-events", false);
    let model = model_folder(&f);
    let file = format!("{model}/conf/model.conf");
    let settings = std::fs::read_to_string(&file).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.5\n";
    std::fs::write(&file, settings).unwrap();
    let server = Server::start(&model, &[]);
    let (rate, sound) = u7();
    let long = wave(rate, &[&sound.repeat(5)]);
    let path = "/v1/audio/transcriptions";
    let whole = json(&post_form(&server, path, &long, &[]).1)["text"].as_str().unwrap().to_owned();
    for (stream, format) in [("true", "json"), ("True", "text"), ("1", "json")] {
        let form = [("stream", stream), ("response_format", format), ("vad_filter", "true")];
        let (head, body) = post_form(&server, path, &long, &form);
        assert!(head.contains("content-type: text/event-stream") && head.contains("vad_filter"), "{head}");
        let mut events = events(&body);
        let done = events.pop().unwrap();
        assert_eq!((&done["type"], &done["text"]), (&"transcript.text.done".into(), &whole.as_str().into()));
        assert!(events.len() > 2, "{body}");
        let deltas: Vec<&str> = events.iter().map(|event| event["delta"].as_str().unwrap()).collect();
        assert!(events.iter().all(|event| event["type"] == "transcript.text.delta"), "{body}");
        assert_eq!(deltas.concat(), whole);
    }
    server.wait_for(&format!(
        "{path}: status 200, {:.2} s of sound, ",
        5.0 * sound.len() as f64 / 2.0 / f64::from(rate)
    ));
    // Half of a recording: its text, and what is missing.
    let (_, body) = post_form(&server, path, &long[..long.len() / 2], &[("stream", "true")]);
    let done = events(&body).pop().unwrap();
    assert!(done["warnings"][0].as_str().unwrap().contains("missing"), "{done}");
    // A fault before the first event is an answer of its own; one in the middle is an event.
    let unreadable = post_form(&server, path, b"no sound", &[("stream", "true")]);
    assert!(unreadable.0.starts_with("http/1.1 422 "), "{}", unreadable.0);
    for (fields, words) in [
        (&[("stream", "maybe")][..], "stream: expected true or false, found 'maybe'"),
        (
            &[("stream", "true"), ("response_format", "srt")][..],
            "expected response_format json or text, found 'srt'",
        ),
        (&[("stream", "true"), ("channels", "each")][..], "stream: not for channels=each"),
    ] {
        let (head, body) = post_form(&server, path, &long, fields);
        assert!(head.starts_with("http/1.1 400 ") && body.contains(words), "{body}");
    }
    server.stop();
    let server = Server::start(&model, &["--max-seconds=3"]);
    let events = events(&post_form(&server, path, &long, &[("stream", "true")]).1);
    assert!(events.iter().any(|event| event["delta"].is_string()), "{events:?}");
    let last = &events.last().unwrap()["error"];
    assert!(last["message"].as_str().unwrap().contains("longer than 3 seconds"), "{last}");
    server.stop();
}
