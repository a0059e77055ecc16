//! A small server, with a fibre for each connection.
//!
//! | path | what is answered |
//! |---|---|
//! | `/port` | the client's port: which connection it was |
//! | `/echo` | the body that was sent |
//! | `/bytes/N` | so many bytes |
//! | `/chunks/N` | so many chunks |
//! | `/to/N` | a redirect to `/to/N-1`, and at the end to `/port` |
//! | `/late` | an answer after a second |
//! | `/cut` | half of an answer, and then nothing |
//! | `/never` | nothing |

use fibre::net::TcpListener;
use fibre_rustls::TlsAcceptor;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A server that ends with the process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Connections that it has had.
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Server {
    /// Listens; over TLS, if there is an acceptor.
    pub(crate) fn start(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        // The test's own cluster is to end.
        let cluster = fibre::Cluster::default_cluster().unwrap();
        cluster.spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::Relaxed);
                let (stream, tls) = (stream.unwrap(), tls.clone());
                fibre::spawn(move || {
                    let port = stream.peer_addr()?.port();
                    match tls {
                        Some(tls) => serve(tls.accept(stream)?, port),
                        None => serve(stream, port),
                    }
                });
            }
        });
        Self {
            address,
            connections,
        }
    }

    /// The address of a path.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Answers requests until the client goes.
fn serve(stream: impl Read + Write, port: u16) -> io::Result<()> {
    let mut input = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if input.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let (mut length, mut chunked) = (0, false);
        loop {
            let mut line = String::new();
            input.read_line(&mut line)?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
            chunked |= line == "transfer-encoding: chunked";
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        while chunked {
            let mut head = String::new();
            input.read_line(&mut head)?;
            let size = usize::from_str_radix(head.trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            input.read_exact(&mut chunk)?;
            body.extend_from_slice(&chunk[..size]);
            chunked = size > 0;
        }
        let path = first.split(' ').nth(1).unwrap_or_default();
        if !answer(input.get_mut(), path, body, port)? {
            return Ok(());
        }
    }
}

/// Answers one request; whether another one may follow.
fn answer(stream: &mut impl Write, path: &str, body: Vec<u8>, port: u16) -> io::Result<bool> {
    let number = |prefix| {
        path.strip_prefix(prefix)
            .and_then(|it: &str| it.parse::<usize>().ok())
    };
    let body = if let Some(count) = number("/bytes/") {
        vec![b'.'; count]
    } else if let Some(left) = number("/to/") {
        let next = match left {
            0 => "/port".to_owned(),
            _ => format!("/to/{}", left - 1),
        };
        write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: {next}\r\nContent-Length: 0\r\n\r\n"
        )?;
        stream.flush()?;
        return Ok(true);
    } else if let Some(count) = number("/chunks/") {
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        )?;
        (0..count).try_for_each(|_| write!(stream, "5\r\nchunk\r\n"))?;
        write!(stream, "0\r\n\r\n")?;
        stream.flush()?;
        return Ok(true);
    } else {
        match path {
            "/echo" => body,
            "/late" => {
                fibre::sleep(Duration::from_secs(1));
                b"late".to_vec()
            }
            "/cut" => {
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")?;
                stream.flush()?;
                return Ok(false);
            }
            "/never" => {
                fibre::sleep(Duration::from_secs(3600));
                return Ok(false);
            }
            _ => port.to_string().into_bytes(),
        }
    };
    let mut whole =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    whole.extend_from_slice(&body);
    stream.write_all(&whole)?;
    stream.flush()?;
    Ok(true)
}
