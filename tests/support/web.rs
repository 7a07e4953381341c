//! A small web server on the loopback, whose answers a test makes up.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Without the query.
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
}

impl Request {
    /// A part of the query.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered.
pub(crate) enum Answer {
    /// Status, content type, body.
    Whole(u16, &'static str, Vec<u8>),
    /// A redirect.
    Elsewhere(String),
    /// These bytes, headers included, then the end of the connection.
    Raw(Vec<u8>),
    /// These bytes again and again, as long as they are taken, with a pause between.
    Endless(Vec<u8>, Duration),
    /// Nothing, for so long.
    Silence(Duration),
}

impl Answer {
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self::Whole(200, "application/json", value.to_string().into_bytes())
    }
}

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

/// A server that runs until the test ends.
pub(crate) struct Server {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<Request>>>,
    most_at_once: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), handler)
    }

    pub(crate) fn start_at(
        at: SocketAddr,
        handler: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(at).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let handler: Arc<Handler> = Arc::new(handler);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let most_at_once = Arc::new(AtomicUsize::new(0));
        let at_once = Arc::new(AtomicUsize::new(0));
        let (all, most) = (Arc::clone(&requests), Arc::clone(&most_at_once));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (handler, all) = (Arc::clone(&handler), Arc::clone(&all));
                let (at_once, most) = (Arc::clone(&at_once), Arc::clone(&most));
                thread::spawn(move || {
                    serve(&stream, |request| {
                        all.lock().unwrap().push(request.clone());
                        let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        let answer = handler(request);
                        at_once.fetch_sub(1, Ordering::SeqCst);
                        answer
                    });
                });
            }
        });
        Self { address, requests, most_at_once }
    }

    /// What was asked so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// How many questions were open at the same time, at most.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }
}

/// Answers until the other side leaves.
fn serve(stream: &TcpStream, answer: impl Fn(&Request) -> Answer) {
    // Headers and body are two writes: without this the second waits for a late acknowledgement.
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        if write(stream, answer(&request)).is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let target = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pairs = url::form_urlencoded::parse(query.as_bytes()).into_owned();
    Some(Request { path: path.to_owned(), query: pairs.collect(), headers })
}

fn write(mut stream: &TcpStream, answer: Answer) -> std::io::Result<()> {
    match answer {
        Answer::Whole(status, kind, body) => {
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
            )?;
            stream.write_all(&body)
        }
        Answer::Elsewhere(to) => {
            write!(stream, "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
        }
        Answer::Raw(bytes) => {
            stream.write_all(&bytes)?;
            stream.shutdown(std::net::Shutdown::Both)
        }
        Answer::Endless(bytes, pause) => {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
            )?;
            loop {
                stream.write_all(&bytes)?;
                thread::sleep(pause);
            }
        }
        Answer::Silence(time) => {
            // What comes from the other side meanwhile is its end.
            stream.set_read_timeout(Some(time))?;
            let _ = stream.read(&mut [0]);
            stream.shutdown(std::net::Shutdown::Both)
        }
    }
}
