//! From a request to its page: the stages of the paper's figure 6, and their colours.
//!
//! | handler | colour | goes on with |
//! |---|---|---|
//! | ParseRequest, which hashes the path's prefixes | the client's | CheckPageCache |
//! | CheckPageCache | that of one of ten caches | WriteResponse; FindHandle, for the first to miss |
//! | FindHandle, for the longest prefix | that of the handles | ReadFile |
//! | ReadFile | that of the file system | KeepHandles, KeepPage |
//! | KeepHandles | that of the handles | – |
//! | KeepPage | that of the page's cache | WriteResponse, for all who have waited |
//!
//! ReadFile blocks, and keeps its colour meanwhile, so one file is read at a time, as in the paper,
//! where one colour sends all calls to the file server.

use crate::files::{self, Reading};
use crate::front::http::page::{Page, Refusals, Status};
use crate::front::http::{Site, page::Manner};
use crate::front::server::{Client, Server};
use crate::handles::{Handle, Handles};
use crate::key::Key;
use crate::page_cache::{Look, Outcome, PageCache};
use fibre_events::{Colour, Handler};
use std::hash::RandomState;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static CHECK_PAGE_CACHE: Handler = Handler::new("CheckPageCache");
static FIND_HANDLE: Handler = Handler::new("FindHandle");
static READ_FILE: Handler = Handler::new("ReadFile");
static KEEP_HANDLES: Handler = Handler::new("KeepHandles");
static KEEP_PAGE: Handler = Handler::new("KeepPage");

/// What the server calls itself.
const NAME: &str = "http_cache";

/// How many page caches there are.
const CACHES: usize = 10;

/// How much is kept, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Bytes of all pages.
    pub(crate) pages: usize,
    /// Open directories and files.
    pub(crate) handles: NonZeroUsize,
    /// Bytes of a file that is served.
    pub(crate) file: u64,
    /// How old a page or a handle may become.
    pub(crate) age: Duration,
}

/// The files, and what is kept of them.
pub(crate) struct Cache {
    refusals: Refusals,
    sizes: Sizes,
    hashes: RandomState,
    caches: Vec<Coloured<PageCache<Client<Self>>>>,
    handles: Coloured<Handles>,
    /// The colour of events that ask the file system.
    file_system: Colour,
}

/// Something that events of one colour use; its lock is only ever taken by one of them.
struct Coloured<T> {
    colour: Colour,
    value: Mutex<T>,
}

impl<T> Coloured<T> {
    /// A value under the colour of this name and number.
    fn new(name: &'static str, number: usize, value: T) -> Self {
        Self {
            colour: Colour::of(&(name, number)),
            value: Mutex::new(value),
        }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    /// The files below a directory.
    pub(crate) fn new(root: &Path, sizes: Sizes) -> io::Result<Self> {
        let handles = Handles::new(files::root(root)?, sizes.handles);
        let cache = |number| {
            let pages = PageCache::new(sizes.pages / CACHES);
            Coloured::new("pages", number, pages)
        };
        Ok(Self {
            refusals: Refusals::new(NAME),
            sizes,
            hashes: RandomState::new(),
            caches: (0..CACHES).map(cache).collect(),
            handles: Coloured::new("handles", 0, handles),
            file_system: Colour::of(&"file system"),
        })
    }

    /// The cache that has the page of a path.
    fn cache(&self, key: &Key) -> &Coloured<PageCache<Client<Self>>> {
        &self.caches[key.cache(CACHES)]
    }

    #[allow(dead_code, reason = "for tests")]
    /// How many pages there are, of how many bytes, and how many handles.
    pub(crate) fn kept(&self) -> (usize, usize, usize) {
        let sizes = self.caches.iter().map(|cache| cache.lock().size());
        let (pages, bytes) = sizes.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (pages, bytes, self.handles.lock().len())
    }
}

impl Site for Cache {
    fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    fn answer(server: &Arc<Server<Self>>, connection: Client<Self>) {
        let path = connection
            .talk
            .as_ref()
            .and_then(|request| request.path.as_deref());
        let Some(path) = path else {
            return tell(server, connection, Err(Status::MethodNotAllowed));
        };
        let Some(prefixes) = Key::prefixes(path, &server.service.hashes) else {
            return tell(server, connection, Err(Status::NotFound));
        };
        let wanted = Wanted {
            server: Arc::clone(server),
            prefixes,
        };
        let colour = wanted.cache().colour.clone();
        let event = CHECK_PAGE_CACHE.with(move || wanted.check_page_cache(connection));
        server.post_under(colour, event);
    }
}

/// Tells a client what its request has come to.
fn tell(server: &Arc<Server<Cache>>, mut connection: Client<Cache>, outcome: Outcome) {
    let manner = connection.talk.take().map(|request| request.manner);
    let mut manner = manner.unwrap_or(Manner::LAST);
    manner.closes |= server.is_stopping();
    match outcome {
        Ok(page) => page.say_to(&mut connection, manner),
        Err(status) => {
            let page = server.service.refusals.of(status);
            page.say_to(&mut connection, manner);
        }
    }
    server.has_answered(connection);
}

/// A path on its way through the stages; the whole path is the last prefix.
struct Wanted {
    server: Arc<Server<Cache>>,
    prefixes: Vec<Key>,
}

impl Wanted {
    fn key(&self) -> &Key {
        // A path has a component at least.
        &self.prefixes[self.prefixes.len() - 1]
    }

    fn cache(&self) -> &Coloured<PageCache<Client<Cache>>> {
        self.server.service.cache(self.key())
    }

    /// Until when what is read now is kept.
    fn until(&self) -> Instant {
        Instant::now() + self.server.service.sizes.age
    }

    fn check_page_cache(self, connection: Client<Cache>) {
        let look = self
            .cache()
            .lock()
            .look(self.key(), Instant::now(), connection);
        match look {
            Look::Found(page, connection) => tell(&self.server, connection, Ok(page)),
            Look::Waits => {}
            Look::IsFirst => {
                let server = Arc::clone(&self.server);
                let event = FIND_HANDLE.with(move || self.find_handle());
                server.post_under(server.service.handles.colour.clone(), event);
            }
        }
    }

    fn find_handle(self) {
        let service = &self.server.service;
        let mut handles = service.handles.lock();
        let (handle, known) = handles.longest(&self.prefixes, Instant::now());
        drop(handles);
        let (server, colour) = (Arc::clone(&self.server), service.file_system.clone());
        let event = READ_FILE.with(move || self.read_file(handle, known));
        server.post_under(colour, event);
    }

    fn read_file(self, handle: Handle, known: usize) {
        let service = &self.server.service;
        let (prefixes, most) = (&self.prefixes, service.sizes.file);
        let reading = fibre::blocking(move || files::read(handle, prefixes, known, most));
        let Reading { opened, bytes } = reading;
        let outcome = bytes.map(|bytes| {
            let fields = format!("Content-Type: {}\r\n", media_type(self.key().name()));
            let page = Page::large(NAME, "200 OK", &fields, &bytes.into());
            Arc::new(page)
        });
        let until = self.until();
        let server = Arc::clone(&self.server);
        if !opened.is_empty() {
            let shared = Arc::clone(&server);
            let event = KEEP_HANDLES.with(move || {
                shared.service.handles.lock().keep(opened, until);
            });
            server.post_under(service.handles.colour.clone(), event);
        }
        let colour = self.cache().colour.clone();
        let event = KEEP_PAGE.with(move || self.keep_page(outcome, until));
        server.post_under(colour, event);
    }

    fn keep_page(self, outcome: Outcome, until: Instant) {
        let read = outcome.as_ref().ok();
        let read = read.map(|page| (Arc::clone(page), page.size()));
        let waited = self.cache().lock().keep(self.key(), read, until);
        for connection in waited {
            tell(&self.server, connection, outcome.clone());
        }
    }
}

/// The media type of a file, by the end of its name.
fn media_type(name: &[u8]) -> &'static str {
    let (_, ending) = name.split_at(name.iter().rposition(|&byte| byte == b'.').unwrap_or(0));
    match ending {
        b".html" => "text/html; charset=utf-8",
        b".txt" => "text/plain; charset=utf-8",
        b".css" => "text/css",
        b".js" => "text/javascript",
        b".json" => "application/json",
        b".png" => "image/png",
        b".jpg" | b".jpeg" => "image/jpeg",
        b".svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
