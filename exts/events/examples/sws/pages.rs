//! What there is to serve: answers that are built before the first request comes.

use crate::front::http::Site;
use crate::front::http::page::{Page, Refusals, Status};
use crate::front::server::{Client, Server};
use fibre_events::Handler;
use std::collections::HashMap;
use std::sync::Arc;

/// The ninth handler; the others are those of [`crate::front`].
static CHECK_IN_CACHE: Handler = Handler::new("CheckInCache");

/// What the server calls itself.
const NAME: &str = "sws";

/// All answers.
#[derive(Debug)]
pub(crate) struct Pages {
    by_path: HashMap<Vec<u8>, Page>,
    refusals: Refusals,
}

impl Pages {
    /// The answers without a page, yet.
    pub(crate) fn new() -> Self {
        Self {
            by_path: HashMap::new(),
            refusals: Refusals::new(NAME),
        }
    }

    /// Some files of so many bytes each, as in Mely's load: `/file/0` and so on.
    pub(crate) fn with_files(mut self, files: usize, bytes: usize) -> Self {
        for number in 0..files {
            let pattern = format!("file {number}\n").into_bytes();
            let body: Vec<u8> = pattern.into_iter().cycle().take(bytes).collect();
            self = self.with(&format!("/file/{number}"), &body);
        }
        self
    }

    /// Adds a page.
    pub(crate) fn with(mut self, path: &str, body: &[u8]) -> Self {
        let page = Page::small(NAME, "200 OK", "Content-Type: text/plain\r\n", body);
        self.by_path.insert(path.as_bytes().to_vec(), page);
        self
    }

    #[allow(dead_code, reason = "for tests")]
    /// Adds a page, given its whole answer.
    pub(crate) fn with_answer(mut self, path: &str, answer: &[u8]) -> Self {
        let end = answer.windows(4).position(|end| end == b"\r\n\r\n");
        let head = end.map_or(answer.len(), |end| end + 4);
        let page = Page::verbatim(answer, head);
        self.by_path.insert(path.as_bytes().to_vec(), page);
        self
    }
}

impl Site for Pages {
    fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    fn answer(server: &Arc<Server<Self>>, connection: Client<Self>) {
        server.post(&CHECK_IN_CACHE, connection, check_in_cache);
    }
}

/// Finds the answer to the connection's request.
fn check_in_cache(server: &Arc<Server<Pages>>, mut connection: Client<Pages>) {
    let Some(request) = connection.talk.take() else {
        return;
    };
    let Pages { by_path, refusals } = &server.service;
    let page = match &request.path {
        Some(path) => by_path
            .get(path)
            .unwrap_or_else(|| refusals.of(Status::NotFound)),
        None => refusals.of(Status::MethodNotAllowed),
    };
    let mut manner = request.manner;
    manner.closes |= server.is_stopping();
    page.say_to(&mut connection, manner);
    server.has_answered(connection);
}
