//! A server for a test, and clients of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::common::binary;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The rate and the samples of the test's recording.
pub fn u7() -> (u32, Vec<u8>) {
    let wave = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav")).unwrap();
    let data = wave.windows(4).position(|name| name == b"data").unwrap() + 8;
    (u32::from_le_bytes(wave[24..28].try_into().unwrap()), wave[data..].to_vec())
}

/// A server that is killed at the end of the test, unless it has ended before.
pub struct Server {
    child: Child,
    pub port: u16,
    log: Arc<Mutex<String>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Server {
    /// Starts a server with a model on a free port.
    pub fn start(model: &str, options: &[&str]) -> Server {
        Server::start_within("true", model, options)
    }

    /// Does the same after a command of the shell, such as `ulimit -f 200`.
    pub fn start_within(before: &str, model: &str, options: &[&str]) -> Server {
        let mut child = Command::new("bash")
            .args(["-c", &format!("{before} && exec \"$0\" \"$@\"")])
            .arg(binary("nnet3-serve"))
            .arg("--port=0")
            .args(options)
            .arg(model)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, copy) = (BufReader::new(child.stderr.take().unwrap()), log.clone());
        std::thread::spawn(move || {
            for line in lines.split(b'\n').map_while(Result::ok) {
                copy.lock().unwrap().push_str(&(String::from_utf8_lossy(&line).into_owned() + "\n"));
            }
        });
        let mut server = Server { child, port: 0, log };
        let line = server.wait_for("Listening on http://127.0.0.1:");
        server.port = line.rsplit_once(':').unwrap().1.parse().unwrap();
        server
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits for a line of the log with these words.
    pub fn wait_for(&self, words: &str) -> String {
        let begin = Instant::now();
        loop {
            let log = self.log();
            if let Some(line) = log.lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            assert!(begin.elapsed() < PATIENCE, "no '{words}' in: {log}");
            assert!(!log.contains("ERROR"), "no '{words}' in: {log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// The status of the server once it has ended; `None` if it does not in time.
    pub fn status(&mut self, most: Duration) -> Option<i32> {
        let begin = Instant::now();
        while begin.elapsed() < most {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// Stops a server without sessions.
    pub fn stop(mut self) {
        self.signal("TERM");
        assert_eq!(self.status(PATIENCE), Some(0), "{}", self.log());
        assert!(!self.log().contains("panicked"), "{}", self.log());
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap_or_else(|error| {
            // (The last lines of the log may still be on their way.)
            std::thread::sleep(Duration::from_millis(300));
            panic!("{error}: {}", self.log())
        });
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub fn client(&self) -> Client {
        self.client_with("/", &[]).unwrap()
    }

    /// A client with headers of its own; the status if the server refuses it.
    pub fn client_with(&self, path: &str, headers: &[(&'static str, &str)]) -> Result<Client, u16> {
        let mut request = format!("ws://127.0.0.1:{}{path}", self.port).into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match tungstenite::client(request, self.connect()) {
            Ok((socket, _)) => Ok(Client(socket)),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        self.request(
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes(),
        )
    }

    pub fn post(&self, path: &str, body: &[u8], headers: &str) -> (u16, String) {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        );
        self.request(&[head.as_bytes(), body].concat())
    }

    /// The status and the body of the answer to a request.
    pub fn request(&self, request: &[u8]) -> (u16, String) {
        let (head, body) = self.exchange(request);
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }

    /// The head, in lower case, and the body of the answer to a request.
    pub fn exchange(&self, request: &[u8]) -> (String, String) {
        let mut stream = self.connect();
        // (A server may answer before it has all.)
        let sent = stream.write_all(request);
        let mut answer = Vec::new();
        let received = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            // (The last lines of the log may still be on their way.)
            std::thread::sleep(Duration::from_millis(300));
            panic!("no answer: '{answer}' {sent:?} {received:?}; {}", self.log());
        };
        (head.to_ascii_lowercase(), body.to_owned())
    }

    /// The processes that it has started.
    pub fn children(&self) -> Vec<u32> {
        let parent = self.child.id().to_string();
        let mut children = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(process) = name.parse() else { continue };
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
            if fields.split(' ').nth(1) == Some(&parent) && !fields.starts_with('Z') {
                children.push(process);
            }
        }
        children
    }

    /// A figure of the process in kilobytes or threads: `VmRSS`, `Threads`.
    pub fn figure(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

/// A client of a socket.
pub struct Client(WebSocket<TcpStream>);

impl Client {
    pub fn stream(&mut self) -> &mut TcpStream {
        self.0.get_mut()
    }

    pub fn send(&mut self, message: Message) {
        // (A server that has closed is noticed when its answer is read.)
        let _gone = self.0.send(message);
    }

    pub fn config(&mut self, config: Value) {
        self.send(Message::text(json!({ "config": config }).to_string()));
    }

    /// The next message, without pings; `None` at the end.
    fn next(&mut self) -> Option<Message> {
        loop {
            match self.0.read() {
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(message) => return Some(message),
                Err(_) => return None,
            }
        }
    }

    #[track_caller]
    pub fn answer(&mut self) -> Value {
        match self.next() {
            Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("expected an answer, found {other:?}"),
        }
    }

    /// True if the server has closed.
    pub fn ended(&mut self) -> bool {
        matches!(self.next(), Some(Message::Close(_)) | None)
    }

    /// Waits for the close frame, and returns its code and reason.
    #[track_caller]
    pub fn close_frame(&mut self) -> (u16, String) {
        loop {
            match self.next() {
                Some(Message::Close(Some(frame))) => return (frame.code.into(), frame.reason.to_string()),
                Some(Message::Text(_)) => {}
                other => panic!("expected a close frame, found {other:?}"),
            }
        }
    }

    /// Sends sound in pieces of so many bytes, waiting for each answer, and the end; returns all answers.
    pub fn send_all(&mut self, sound: &[u8], size: usize) -> Vec<Value> {
        let mut answers = Vec::new();
        for piece in sound.chunks(size) {
            self.send(Message::binary(piece.to_vec()));
            answers.push(self.answer());
        }
        self.send(Message::text("{\"eof\" : 1}"));
        answers.push(self.answer());
        answers
    }

    /// Does the same after naming the rate, in Hz.
    pub fn speak(&mut self, rate: u32, sound: &[u8], size: usize) -> Vec<Value> {
        self.config(json!({ "sample_rate": rate }));
        self.send_all(sound, size)
    }
}
