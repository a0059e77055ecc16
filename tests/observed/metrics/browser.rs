//! The page of a process in a browser: Debian's Chromium, without a window. For
//! `cargo xtask browser`, as it has to be installed.
//!
//! With `XTASK_SCREENSHOTS` a folder, pictures of the page are written there.

use super::pages::{hung, quarrel};
use super::serving::{Served, served, thirteen};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the page may take to show what it should.
const LIMIT: Duration = Duration::from_secs(50);

/// How long the page runs before it is looked at, in its own milliseconds: some snapshots.
const RUNS: &str = "--virtual-time-budget=6000";

/// The browser, with a folder of its own, which goes with it.
struct Browser(PathBuf);

impl Browser {
    /// A browser with a folder that no other test has.
    fn new(name: &str) -> Self {
        let folder = format!("fibre-browser-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(folder))
    }

    /// Opens the page of a process with these arguments: what the browser prints on its standard
    /// output, and what it complains of.
    fn open(&self, served: &Served, arguments: &[&str]) -> (String, String) {
        let mut command = Command::new("chromium");
        // Root has no sandbox, and the page comes from this process.
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", RUNS]);
        command.args(["--enable-logging=stderr", "--hide-scrollbars"]);
        command.arg(format!("--user-data-dir={}", self.0.display()));
        command
            .args(arguments)
            .arg(format!("http://{}/", served.address));
        let output = command.stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("chromium: {error}"));
        let [printed, complaints] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{complaints}");
        (printed, complaints)
    }

    /// The page as its script has made it, once that is as it should be.
    fn page(&self, served: &Served, is_wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + LIMIT;
        loop {
            let (page, complaints) = self.open(served, &["--dump-dom"]);
            let console = complaints.lines().filter(|line| line.contains("CONSOLE"));
            assert_eq!(console.collect::<Vec<_>>(), [""; 0]);
            if is_wanted(&page) {
                return page;
            }
            assert!(Instant::now() < end, "{page}");
        }
    }

    /// Writes a picture of the page, if pictures are wanted.
    fn picture(&self, served: &Served, name: &str) {
        if let Some(folder) = std::env::var_os("XTASK_SCREENSHOTS") {
            let file = PathBuf::from(folder).join(format!("{name}.png"));
            let picture = format!("--screenshot={}", file.display());
            self.open(served, &["--window-size=1100,760", &picture]);
            assert!(file.exists(), "{}", file.display());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // There is none if the browser has not started.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The text of an element with this name for scripts.
fn text<'p>(page: &'p str, id: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("id=\"{id}\"")).unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    rest.split('<').next().unwrap()
}

/// The cells of the rows of a part of the page, without what they are drawn with.
fn rows(page: &str) -> Vec<Vec<String>> {
    let rows = page.split("<tr>").skip(1);
    let cells = rows.map(|row| {
        let cells = row.split("<td").skip(1);
        let text = cells.map(|cell| {
            let (_, text) = cell.split_once('>').unwrap_or_default();
            text.split('<').next().unwrap_or_default().to_owned()
        });
        text.collect()
    });
    cells.collect()
}

#[test]
fn a_process_at_rest_is_drawn() {
    let served = served(&[("FIBRE_PROCESSORS", "2")], thirteen);
    let browser = Browser::new("rest");
    let page = browser.page(&served, |page| page.contains("serving.rs"));
    assert_eq!(
        text(&page, "name"),
        format!("process {}", served.child.id())
    );
    assert_eq!((text(&page, "state"), text(&page, "alarm")), ("live", ""));
    let rows = rows(&page);
    let waiting = rows
        .iter()
        .find(|row| row.iter().any(|cell| cell.contains("serving.rs")));
    assert_eq!(waiting.unwrap()[..2], ["13", "waits"], "{rows:?}");
    // Use and queue of two processors; a busy machine may make it start spare ones.
    assert!(page.matches("<polyline").count() >= 4, "{page}");
    browser.picture(&served, "page-rest");
}

/// Serves connections that ask without end, and has fibres quarrel about a mutex.
fn busy() {
    let listener = fibre::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(fibre::spawn(move || {
        for (mut client, _) in listener.connections() {
            drop(fibre::spawn(move || {
                let mut buffer = [0; 64];
                while let Ok(count @ 1..) = client.read(&mut buffer) {
                    if client.write_all(&buffer[..count]).is_err() {
                        break;
                    }
                }
            }));
        }
    }));
    for _ in 0..4 {
        std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            while stream.write_all(b"!").is_ok() && stream.read_exact(&mut [0]).is_ok() {}
        });
    }
    quarrel();
}

#[test]
fn a_server_under_load_is_drawn() {
    let environment = [("FIBRE_PROCESSORS", "2"), ("FIBRE_LOCK_PROFILE", "1")];
    let served = served(&environment, busy);
    let browser = Browser::new("load");
    let switches = |page: &str| -> f64 {
        let rows = rows(page);
        let processors = rows.iter().filter(|row| row.len() == 10);
        let rates = processors.map(|row| row[5].replace(',', ""));
        rates.filter_map(|rate| rate.parse::<f64>().ok()).sum()
    };
    let page = browser.page(&served, |page| {
        switches(page) > 50.0 && page.contains("pages.rs") && page.contains("input or output")
    });
    assert_eq!((text(&page, "state"), text(&page, "alarm")), ("live", ""));
    browser.picture(&served, "page-load");
}

#[test]
fn a_process_that_hangs_is_drawn() {
    let served = hung();
    let browser = Browser::new("hangs");
    let words = "2 of 2 processors of “fibre” are kept by a fibre that does not switch.";
    let page = browser.page(&served, |page| text(page, "alarm") == words);
    assert_eq!(text(&page, "state"), "live");
    browser.picture(&served, "page-hangs");
}
