//! Pages for people, beside the metrics: one that draws what the process does, and what it links
//! to.
//!
//! To look at all fibres, and to read the names of functions, takes up to seconds. So a thread of
//! its own makes these pages and sends them, one after the other; metrics go on meanwhile. It is a
//! plain thread, and looks at clusters from outside, so it answers when every processor hangs. It
//! starts with the first page. Nothing that it serves changes the process.

use crate::dump::{Format, content};
use crate::metrics::connection::{Answer, Connection, plain};
use crate::metrics::request::Page;
use crate::page::snapshot::Snapshots;
use crate::trace::write_trace;
use fibre_core::internal::start_helper;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// How many clients may wait for a page.
pub(crate) const MOST_WAITING: usize = 8;

/// How long a snapshot serves.
const FRESH: Duration = Duration::from_millis(400);

/// A client, and what it wants.
type Job = (Connection, Page);

/// The way to the thread that makes pages.
#[derive(Debug, Default)]
pub(crate) struct Pages(Option<SyncSender<Job>>);

impl Pages {
    /// Gives a client to the thread that answers it. Returns the client if there is no place, to be
    /// told so. Blocks nothing.
    #[must_use = "the client is to be told"]
    pub(crate) fn hand_over(&mut self, connection: Connection, page: Page) -> Option<Connection> {
        if self.0.is_none() {
            let (sender, jobs) = sync_channel(MOST_WAITING);
            let makes = move || make_all(&jobs);
            // Without a thread the next client tries again.
            let started = start_helper("fibre-pages".to_owned(), makes);
            self.0 = started.is_ok().then_some(sender);
        }
        let Some(sender) = &self.0 else {
            return Some(connection);
        };
        match sender.try_send((connection, page)) {
            Ok(()) => None,
            Err(
                TrySendError::Full((connection, _)) | TrySendError::Disconnected((connection, _)),
            ) => Some(connection),
        }
    }
}

/// Makes pages for ever. Blocks the thread.
fn make_all(jobs: &Receiver<Job>) {
    let mut snapshots = Snapshots::new();
    let mut last: Option<(Instant, String)> = None;
    for (connection, page) in jobs {
        let answer = match page {
            Page::Home => home(),
            Page::Snapshot => {
                let fresh = last.take().filter(|(made, _)| made.elapsed() < FRESH);
                let (made, text) = fresh.unwrap_or_else(|| {
                    let text = snapshots.next();
                    (Instant::now(), text)
                });
                let answer = ("200 OK", "application/json", text.clone().into_bytes());
                last = Some((made, text));
                answer
            }
            Page::Dump => dump(),
            Page::Trace => trace(),
        };
        connection.answer(answer);
    }
}

/// The page that draws, whole: it asks for nothing but snapshots, of this server.
fn home() -> Answer {
    let page = include_str!("home.html");
    ("200 OK", "text/html; charset=utf-8", page.into())
}

/// All fibres, as text.
fn dump() -> Answer {
    match content(Format::Text) {
        Ok((text, _)) => ("200 OK", "text/plain; charset=utf-8", text.into_bytes()),
        Err(error) => plain("503 Service Unavailable", &format!("{error}\n")),
    }
}

/// The events that are recorded.
fn trace() -> Answer {
    let mut bytes = Vec::new();
    match write_trace(&mut bytes) {
        Ok(()) => ("200 OK", "application/octet-stream", bytes),
        Err(error) => plain("404 Not Found", &format!("{error}\n")),
    }
}
