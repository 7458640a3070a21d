//! Speakers: those of `nnet3-transcribe --speakers`.

use serde_json::{Value, json};

use super::client::{Server, u7};
use super::text;
use crate::common;
use crate::online_programs::{folder, model_folder};
use crate::transcribe_outputs::wave;
use crate::transcribe_speakers::speaker_folder;

#[test]
fn words_have_the_speakers_of_nnet3_transcribe() {
    let f = folder("serve-speakers", false);
    let model = model_folder(&f);
    // A rule that ends sentences soon, so that there are several.
    let settings = std::fs::read_to_string(format!("{model}/conf/model.conf")).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.6\n";
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    let speakers = speaker_folder(&f);
    // The second half is lower, another voice.
    let (rate, samples) = u7();
    let lower = samples.chunks_exact(2).flat_map(|sample| [sample, sample]).collect::<Vec<_>>().concat();
    let samples = [samples, lower].concat();
    let sound = wave(rate, &samples);
    let file = f.path("u7.wav");
    std::fs::write(&file, &sound).unwrap();
    // A threshold that tells all vectors apart.
    let server = Server::start(&model, &[&format!("--speakers={speakers}"), "--speaker-threshold=0.999999"]);
    let transcribed = |format: &str| {
        let options = [&format!("--format={format}"), "--speaker-threshold=0.999999"];
        let run = common::run(
            "nnet3-transcribe",
            &[&options[..], &[&format!("--speakers={speakers}"), &model, &file]].concat(),
        );
        assert_eq!(run.status, 0, "{}", run.stderr);
        run.stdout
    };
    for format in ["json", "srt", "vtt"] {
        let answer = server.post(&format!("/transcribe?speakers=true&name=u7&format={format}"), &sound, "");
        assert_eq!(answer, (200, transcribed(format)), "{format}");
    }
    let (status, plain) = server.post("/transcribe?speakers=1&format=text", &sound, "");
    let lines: Vec<String> = plain.lines().map(|line| format!("u7 {line}\n")).collect();
    assert_eq!((status, lines.concat()), (200, transcribed("text")));
    // Without the wish, nothing tells of speakers.
    let (status, body) = server.post("/transcribe", &sound, "");
    assert!(status == 200 && !body.contains("speaker") && !body.contains("spk"), "{body}");
    let (status, body) = server.post("/transcribe?speakers=maybe", &sound, "");
    assert!(status == 400 && body.contains("speakers: expected true or false, found 'maybe'"), "{body}");

    let expected: Value = serde_json::from_str(&transcribed("json")).unwrap();
    let segments = expected["segments"].as_array().unwrap();
    assert!(segments.len() > 1 && plain.contains("Speaker 2: "), "{expected}");
    let of_words = |segment: &Value| -> Value {
        segment["words"].as_array().unwrap().iter().map(|word| word["speaker"].clone()).collect()
    };
    let mut client = server.client();
    client.config(json!({ "speakers": true }));
    let answers = client.speak(rate, &samples, 6400);
    assert_eq!(text(&answers), expected["text"].as_str().unwrap());
    let results: Vec<&Value> = answers.iter().filter(|answer| answer.get("result").is_some()).collect();
    assert_eq!(results.len(), segments.len());
    for (result, segment) in results.iter().zip(segments) {
        assert_eq!(result.get("spk"), segment.get("spk"));
        assert_eq!(result.get("spk_frames"), segment.get("spk_frames"));
    }
    assert!(results.iter().any(|result| result.get("spk").is_some()), "{results:?}");
    // The last answer alone has them.
    let (last, others) = answers.split_last().unwrap();
    assert_eq!(last["speakers"], segments.iter().map(of_words).collect::<Value>());
    assert!(others.iter().all(|answer| answer.get("speakers").is_none()), "{others:?}");
    // A session that does not ask.
    let answers = server.client().speak(u7().0, &u7().1, 6400);
    assert!(answers.iter().all(|one| one.get("speakers").is_none() && one.get("spk").is_none()));
    // A sound without words has no sentences.
    let mut client = server.client();
    client.config(json!({ "speakers": true }));
    assert_eq!(client.send_all(&[0; 3200], 3200).last().unwrap()["speakers"], json!([]));
    assert!(server.get("/").1.contains("<body data-speakers=\"true\""));
    server.stop();
}

#[test]
fn without_a_speaker_model_the_wish_is_an_error() {
    let f = folder("serve-no-speakers", false);
    let server = Server::start(&model_folder(&f), &[]);
    let (status, body) = server.post("/transcribe?speakers=true", b"x", "");
    assert!(status == 400 && body.contains("this server has no model of speakers (--speakers)"), "{body}");
    let mut client = server.client();
    client.config(json!({ "speakers": true }));
    let (code, reason) = client.close_frame();
    assert!(code == 1008 && reason.contains("config: speakers: this server has no model"), "{reason}");
    let mut client = server.client();
    client.config(json!({ "speakers": false }));
    assert!(client.speak(u7().0, &u7().1, 6400).len() > 1);
    assert!(server.get("/").1.contains("<body data-speakers=\"false\""));
    server.stop();
}
