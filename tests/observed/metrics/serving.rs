//! `FIBRE_METRICS`: the text over HTTP, whatever clients do.

use super::openmetrics::{self, check_by_promtool, read, sum};
use super::{LIMIT, alone, page};
use crate::support::process::{child, end_after, errors, plays, spawn_child};
use fibre::Cluster;
use fibre::sync::Semaphore;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A process that serves its metrics; it ends with this value.
pub(super) struct Served {
    pub(super) child: Child,
    pub(super) address: SocketAddr,
}

/// Has `program` run in a process that serves its metrics, and stays, and returns that.
pub(super) fn served(environment: &[(&str, &str)], program: impl FnOnce()) -> Served {
    if plays("served") {
        end_after(LIMIT);
        program();
        // Ended by its test, at the latest when that has gone.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    }
    let mut command = child("served", environment);
    command.env("FIBRE_METRICS", "127.0.0.1:0");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let address = line
        .split_once("http://")
        .and_then(|(_, it)| it.split_once("/metrics"));
    let address = address
        .unwrap_or_else(|| panic!("{line:?}"))
        .0
        .parse()
        .unwrap();
    // Whatever else it says is part of the test's output.
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::stderr()));
    Served { child, address }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// A connection whose calls end within the limit of a process.
    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// What the server answers to this: the head, and what follows.
    pub(super) fn ask(&self, request: &[u8]) -> (String, String) {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        answer(stream)
    }

    /// The metrics, as read by a stranger.
    pub(super) fn samples(&self) -> openmetrics::Samples {
        let (head, body) = self.ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        read(&body)
    }

    /// Waits until the metrics are as they should be.
    fn until(&self, wanted: impl Fn(&openmetrics::Samples) -> bool) -> openmetrics::Samples {
        let deadline = std::time::Instant::now() + LIMIT / 2;
        loop {
            let samples = self.samples();
            if wanted(&samples) {
                return samples;
            }
            assert!(std::time::Instant::now() < deadline, "{samples:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Reads an answer to its end.
pub(super) fn answer(mut stream: TcpStream) -> (String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{text:?}"));
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    assert_eq!(length, Some(body.len().to_string().as_str()), "{head}");
    (head.to_owned(), body.to_owned())
}

/// A program with thirteen fibres that wait.
pub(super) fn thirteen() {
    let permits = Arc::new(Semaphore::new(0));
    for _ in 0..13 {
        let permits = Arc::clone(&permits);
        fibre::spawn(move || permits.acquire());
    }
}

#[test]
fn the_text_is_as_the_standard_says_and_the_numbers_are_right() {
    let served = served(&[("FIBRE_PROCESSORS", "2")], || {
        // Names may be equal, and have anything in them.
        for _ in 0..2 {
            let cluster = Cluster::builder()
                .name("say \"x\\y\"")
                .processors(1)
                .build();
            std::mem::forget(cluster.unwrap());
        }
        thirteen();
    });
    // Stacks are counted before fibres, which may begin to wait in between.
    let samples = served.until(|samples| {
        sum(samples, "fibre_fibres_blocked") == 13.0
            && sum(samples, "fibre_processors") >= 4.0
            && sum(samples, "fibre_stacks") >= 13.0
    });
    assert_eq!(sum(&samples, "fibre_fibres"), 13.0);
    assert_eq!(sum(&samples, "fibre_fibres_spawned_total"), 13.0);
    assert_eq!(sum(&samples, "fibre_fibres_runnable"), 0.0);
    assert!(sum(&samples, "fibre_uptime_seconds") > 0.0);
    let again = served.samples();
    for (series, before) in samples
        .iter()
        .filter(|(series, _)| series.contains("_total"))
    {
        assert!(again[series] >= *before, "{series} went back");
    }
    let (head, body) = served.ask(b"GET /metrics HTTP/1.1\r\n\r\n");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    check_by_promtool(&body);
}

/// Of clusters with thread-locals of their own, and of processors that others help, there is more.
#[test]
fn thread_blocks_are_served() {
    let environment = [("FIBRE_PROCESSORS", "2"), ("FIBRE_THREAD_LOCALS", "own")];
    let served = served(&environment, thirteen);
    let samples = served.until(|samples| {
        sum(samples, "fibre_thread_blocks_taken_total") == 13.0
            && sum(samples, "fibre_fibres_blocked") == 13.0
    });
    let of = |name: &str| sum(&samples, name);
    assert_eq!(of("fibre_own_thread_locals"), 1.0);
    assert_eq!(of("fibre_thread_blocks_taken_total"), 13.0);
    let [there, free] = ["fibre_thread_blocks", "fibre_thread_blocks_free"].map(of);
    assert_eq!(there - free, 13.0);
    let [born, ended] = ["born", "ended"].map(|it| of(&format!("fibre_thread_blocks_{it}_total")));
    assert_eq!(born - ended, there);
    for name in [
        "thread_blocks_renewed",
        "rescued_fibres",
        "rescued_timers",
        "rescue_polls",
    ] {
        let begin = format!("fibre_{name}_total{{");
        let has = |series: &String| series.starts_with(&begin);
        assert!(samples.keys().any(has), "{name}: {samples:#?}");
    }
    assert_eq!(page::served(&samples), page::on_page());
}

#[test]
fn other_requests_are_refused() {
    let served = served(&[], thirteen);
    let long = format!(
        "GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 16)
    );
    let posted = format!(
        "POST /more HTTP/1.1\r\nContent-Length: 65536\r\n\r\n{}",
        "x".repeat(1 << 16)
    );
    for (request, status) in [
        (&b"GET /more HTTP/1.1\r\n\r\n"[..], "404"),
        (b"GET /metrics/more HTTP/1.1\r\n\r\n", "404"),
        (b"DELETE /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"GET /metrics HTTP/1.1\r\nAccept: */*;q=0\r\n\r\n", "406"),
        (posted.as_bytes(), "404"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),
        (&[b'\xff'; 100], "400"),
        (long.as_bytes(), "431"),
    ] {
        let (head, body) = served.ask(request);
        let what = String::from_utf8_lossy(&request[..request.len().min(40)]);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{what}: {head}"
        );
        assert!(!body.contains("fibre_"), "{what}");
        let is_told = head.contains("\r\nAllow: GET, HEAD\r\n");
        assert_eq!(is_told, status == "405", "{head}");
    }
    served.samples();
}

/// HEAD gets what GET does, but for the text.
#[test]
fn the_head_alone_may_be_asked_for() {
    let served = served(&[], thirteen);
    for (target, status) in [
        ("/metrics", "200"),
        ("/", "200"),
        ("/snapshot", "200"),
        ("/more", "404"),
    ] {
        let mut stream = served.connect();
        let request = format!("HEAD {target} HTTP/1.1\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "));
        assert!(length.unwrap().parse::<usize>().unwrap() > 0, "{head}");
        assert_eq!(body, "");
    }
    let (_, body) = served.ask(b"GET /metrics HTTP/1.1\r\nAccept: text/plain\r\n\r\n");
    assert!(!body.ends_with("# EOF\n"), "{body}");
}

/// A request may come byte by byte, and others are answered meanwhile, however many there are.
#[test]
fn slow_clients_hold_up_nobody() {
    let served = served(&[], thirteen);
    // More than are kept at a time. They send a part of a request, nothing, or do not read.
    let slow: Vec<_> = (0..100)
        .map(|index| {
            let mut stream = served.connect();
            if index % 3 > 0 {
                let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ");
            }
            stream
        })
        .collect();
    let mut bytewise = served.connect();
    for byte in b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" {
        bytewise.write_all(&[*byte]).unwrap();
        served.samples();
    }
    let (head, body) = answer(bytewise);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    read(&body);
    drop(slow);
    served.samples();
}

/// Those who go in the middle, or say nothing, leave nothing behind.
#[test]
fn clients_may_go() {
    let served = served(&[], thirteen);
    let descriptors = || {
        let folder = format!("/proc/{}/fd", served.child.id());
        std::fs::read_dir(folder).unwrap().count()
    };
    served.samples();
    let before = descriptors();
    for index in 0..50 {
        let mut stream = served.connect();
        match index % 3 {
            0 => drop(stream),
            1 => stream.write_all(b"GET /metr").unwrap(),
            _ => {
                let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
                stream.shutdown(Shutdown::Write).unwrap();
            }
        }
    }
    // Whoever is left is dropped in the end.
    crate::support::eventually(|| descriptors() <= before);
    served.samples();
}

/// The answer comes also when every processor is kept by a fibre, without what only these know.
#[test]
fn a_program_that_hangs_answers() {
    let served = served(
        &[("FIBRE_PROCESSORS", "2"), ("FIBRE_MAX_SPARE", "0")],
        || {
            // One each: without spare processors, one behind the other would never start.
            for processor in 0..2 {
                let hangs = fibre::Builder::new().on_processor(processor);
                drop(hangs.spawn(|| std::thread::sleep(LIMIT)).unwrap());
            }
        },
    );
    let hangs = |samples: &openmetrics::Samples| sum(samples, "fibre_processor_busy") == 2.0;
    let samples = served.until(hangs);
    assert_eq!(sum(&samples, "fibre_fibres"), 2.0);
    assert!(
        !samples
            .keys()
            .any(|series| series.starts_with("fibre_fibres_blocked"))
    );
}

#[test]
fn an_occupied_port_is_told_and_the_program_goes_on() {
    let occupier = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupier.local_addr().unwrap().to_string();
    if let Some(errors) = alone(&[("FIBRE_METRICS", &address)], || {
        fibre::spawn(|| ()).join().unwrap();
    }) {
        let words = format!("fibre: no metrics are served at {address}, as FIBRE_METRICS asks: ");
        assert!(errors.contains(&words), "{errors}");
    }
}

/// A forked child does not keep the port, where it would let clients wait for ever.
#[test]
fn a_forked_child_does_not_listen() {
    let served = served(&[], || {
        fibre::spawn(|| ()).join().unwrap();
        // SAFETY: the child only waits for its end.
        if unsafe { libc::fork() } == 0 {
            tell_forked();
            std::thread::sleep(LIMIT / 4);
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) };
        }
    });
    let children = format!("/proc/{0}/task/{0}/children", served.child.id());
    served.samples();
    if std::path::Path::new(&children).exists() {
        crate::support::eventually(|| has_forked(served.child.id()));
    } else {
        // The kernel has no such lists.
        std::thread::sleep(Duration::from_millis(500));
    }
    let address = served.address;
    drop(served);
    let refused = TcpStream::connect(address).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

/// A client of the parent hears of its end, though a child that was forked meanwhile goes on.
#[test]
fn a_forked_child_keeps_no_connection() {
    let served = served(&[], || {
        fibre::spawn(|| ()).join().unwrap();
        // The test has a connection by now, and says so.
        let _ = std::io::stdin().read_exact(&mut [0]);
        // SAFETY: the child only waits for its end.
        match unsafe { libc::fork() } {
            0 => {
                tell_forked();
                std::thread::sleep(LIMIT / 2);
                // SAFETY: ends the process.
                unsafe { libc::_exit(0) };
            }
            child => eprintln!("forked {child}"),
        }
    });
    let mut served = served;
    let mut idle = served.connect();
    idle.write_all(b"GET /metr").unwrap();
    // Its connection has been accepted before that of a later client is answered.
    served.samples();
    idle.set_read_timeout(Some(LIMIT / 4)).unwrap();
    served
        .child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"x")
        .unwrap();
    crate::support::eventually(|| has_forked(served.child.id()));
    drop(served);
    let ended = idle.read(&mut [0]);
    let is_over = match &ended {
        Ok(count) => *count == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    assert!(is_over, "{ended:?}");
}

/// The name of a forked child that has done what it does at a fork.
const FORKED: &str = "forked";

/// Says of the calling process, a forked child, that it goes on.
fn tell_forked() {
    std::fs::write("/proc/self/comm", FORKED).unwrap();
}

/// Whether a process has a child that has done what it does at a fork.
fn has_forked(process: u32) -> bool {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let lists = tasks.filter_map(|task| Some(task.ok()?.path().join("children")));
    let lists: String = lists.map(|list| read(list.display().to_string())).collect();
    let mut children = lists.split_whitespace();
    children.any(|child| read(format!("/proc/{child}/comm")).trim_end() == FORKED)
}

/// No address is told that nobody serves.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn an_address_is_told_once_it_is_served() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if plays("poor") {
        end_after(LIMIT);
        // Room for the cluster, but not for what a server asks for.
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
        let poor = Rlimit {
            current: Some((pages << 12) + (12 << 20)),
            maximum: getrlimit(Resource::As).maximum,
        };
        setrlimit(Resource::As, poor).unwrap();
        // There may be no room for the fibre's stack either.
        let _ = fibre::spawn(|| ()).join();
        return;
    }
    // std aborts where a thread that has begun finds no room for its signal stack, which may be any
    // thread of the process.
    let aborts = |text: &str| text.contains("failed to allocate an alternative stack");
    let environment = [("FIBRE_METRICS", "127.0.0.1:0"), ("FIBRE_PROCESSORS", "1")];
    let outputs = (0..100).map(|_| spawn_child("poor", &environment));
    let output = outputs.into_iter().find(|output| !aborts(&errors(output)));
    let output = output.unwrap();
    let text = errors(&output);
    assert!(output.status.success(), "{}: {text}", output.status);
    assert!(text.contains("no metrics are served at"), "{text}");
    assert!(!text.contains("metrics are served at http"), "{text}");
}
