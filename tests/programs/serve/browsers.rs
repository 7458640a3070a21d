//! Browsers: pages of other addresses, names that lead to this machine, forms.

use super::DATA;
use super::client::Server;
use crate::online_programs::{folder, model_folder};

/// A request with these headers and a body.
fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn pages_that_are_allowed_may_read_answers() {
    let f = folder("serve-pages", false);
    let model = model_folder(&f);
    let token = f.write("token", "wonderful-secret\n");
    let server = Server::start(
        &model,
        &["--allow-origin=https://a.example,https://b.example", &format!("--token-file={token}")],
    );
    let sound = std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap();
    let bearer = "Authorization: Bearer wonderful-secret\r\n";
    let allowed = "access-control-allow-origin: https://b.example\r\n";
    let from = |origin: &str| format!("Host: localhost\r\nOrigin: {origin}\r\n");
    let page = from("https://b.example");
    // The question before, which has no token, and the recording.
    let asks = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n\
                Access-Control-Request-Private-Network: true\r\n";
    let (head, _) = server.exchange(&request("OPTIONS", "/transcribe", &format!("{page}{asks}"), b""));
    assert_eq!(status(&head), 204, "{head}");
    for line in [
        allowed,
        "access-control-allow-methods: get, post, options",
        "access-control-allow-headers: authorization",
        "access-control-allow-private-network: true",
        "vary: origin",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    let (head, body) = server.exchange(&request("POST", "/transcribe", &format!("{page}{bearer}"), &sound));
    assert!(status(&head) == 200 && head.contains(allowed) && body.contains("text"), "{head} {body}");
    // An error is an answer, too.
    let (head, _) = server.exchange(&request("POST", "/transcribe", &page, &sound));
    assert!(status(&head) == 401 && head.contains(allowed), "{head}");
    // Other pages.
    for method in ["OPTIONS", "POST"] {
        let headers = format!("{}{bearer}", from("https://evil.example"));
        let (head, _) = server.exchange(&request(method, "/transcribe", &headers, &sound));
        assert!(status(&head) == 403 && !head.contains("allow-origin"), "{method}: {head}");
    }
    // A client that is no browser.
    let (head, _) = server.exchange(&request("OPTIONS", "/", "Host: localhost\r\n", b""));
    assert!(status(&head) == 204 && head.contains("allow: get, post, options"), "{head}");
    server.stop();
}

/// A page of any name that leads to 127.0.0.1 counted as the server's own.
#[test]
fn names_that_lead_to_this_machine_are_not_the_servers() {
    let f = folder("serve-names", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &["--host-names=speech.example"]);
    let sound = std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap();
    let post = |host: &str| {
        let headers = format!("Host: {host}\r\nOrigin: http://{host}\r\n");
        let (head, body) = server.exchange(&request("POST", "/transcribe", &headers, &sound));
        (status(&head), body)
    };
    let (refused, text) = post("evil.example:2700");
    assert!(refused == 403 && text.contains("not called 'evil.example:2700' (--host-names"), "{text}");
    for own in ["localhost:2700", "127.0.0.1", "[::1]:2700", "speech.example"] {
        assert_eq!(post(own).0, 200, "{own}");
    }
    let socket = |host: &str| server.client_with("/", &[("host", host)]).err();
    assert_eq!((socket("evil.example"), socket("speech.example")), (Some(403), None));
    let get = |path: &str| status(&server.exchange(&request("GET", path, "Host: evil.example\r\n", b"")).0);
    // Probes may use any name.
    assert_eq!([get("/"), get("/metrics"), get("/healthz"), get("/readyz")], [403, 403, 200, 200]);
    server.stop();
}

#[test]
fn forms_hold_recordings_and_compressed_bodies_do_not() {
    let f = folder("serve-forms", false);
    let model = model_folder(&f);
    let server = Server::start(&model, &[]);
    let sound = std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap();
    let file = [
        &b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"C:\\\\u7.wav\"\r\n\r\n"[..],
        &sound,
        b"\r\n",
    ]
    .concat();
    let field = |name: &str, value: &str| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").into_bytes()
    };
    let post = |path: &str, parts: &[&[u8]]| {
        let form = [&parts.concat(), &b"--x--\r\n"[..]].concat();
        server.post(path, &form, "Content-Type: multipart/form-data; boundary=x\r\n")
    };
    // The name is that of the file, or a field; fields may come before or after the recording.
    assert_eq!(post("/transcribe", &[&file]), server.post("/transcribe?name=u7", &sound, ""));
    let vtt = server.post("/transcribe?format=vtt", &sound, "");
    assert_eq!(post("/transcribe", &[&field("format", "vtt"), &file]), vtt);
    assert_eq!(post("/transcribe", &[&file, &field("format", "vtt")]), vtt);
    for (path, parts, status, words) in [
        ("/transcribe", vec![field("format", "doc"), file.clone()], 400, "format: expected json, text"),
        ("/transcribe", vec![field("format", "json")], 400, "expected a form with a field 'file'"),
        ("/transcribe", vec![file.clone(), file.clone()], 400, "expected one recording, found several"),
        (
            "/transcribe",
            vec![field("a", &"x".repeat(70_000)), file.clone()],
            400,
            "the field 'a' has more than",
        ),
        ("/v1/audio/transcriptions", vec![field("file", "no sound")], 422, "invalid_request_error"),
        (
            "/v1/audio/transcriptions",
            vec![field("response_format", "x"), file.clone()],
            400,
            "verbose_json, found 'x'",
        ),
    ] {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let found = post(path, &parts);
        assert!(found.0 == status && found.1.contains(words), "{path}: {found:?}");
    }
    let many: Vec<Vec<u8>> = (0..101).map(|i| field(&format!("f{i}"), "x")).collect();
    let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
    assert!(post("/transcribe", &many).1.contains("at most 100 fields"));
    let (status, text) = server.post("/v1/audio/transcriptions", &sound, "");
    assert!(status == 400 && text.contains("{\"error\":{\"message\":"), "{text}");
    let (status, text) = server.post("/transcribe", &sound, "Content-Encoding: gzip\r\n");
    assert!(status == 415 && text.contains("found a compressed body"), "{text}");
    let (status, text) = server.post("/transcribe", &sound, "Content-Type: Multipart/Mixed; boundary=x\r\n");
    assert!(status == 415 && text.contains("found multipart/mixed"), "{text}");
    // (As curl says without an option.)
    let curl = "Content-Type: application/x-www-form-urlencoded\r\n";
    assert_eq!(server.post("/transcribe", &sound, curl).0, 200);
    server.stop();
}
