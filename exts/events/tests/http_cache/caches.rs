//! What is kept, how much of it, and for how long.

use crate::front::http::page::Page;
use crate::http::Client;
use crate::key::Key;
use crate::page_cache::{Look, PageCache};
use crate::serving::patient;
use crate::site::Sizes;
use crate::support::{AMPLE, Root, serving, some_files, with_server};
use fibre_events::Policy;
use std::hash::RandomState;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The key of a path.
fn key(path: &str) -> Key {
    use std::sync::LazyLock;
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    Key::prefixes(path.as_bytes(), &STATE)
        .unwrap()
        .pop()
        .unwrap()
}

/// A page.
fn page() -> Arc<Page> {
    Arc::new(Page::small("test", "200 OK", "", b"body"))
}

#[test]
fn only_the_first_to_miss_reads_and_all_get_what_it_reads() {
    let mut cache = PageCache::new(1000);
    let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(600));
    assert!(matches!(cache.look(&key("/a"), now, 1), Look::IsFirst));
    assert!(matches!(cache.look(&key("/a"), now, 2), Look::Waits));
    assert!(matches!(cache.look(&key("/b"), now, 3), Look::IsFirst));
    assert_eq!(cache.keep(&key("/a"), Some((page(), 10)), later), [1, 2]);
    assert!(matches!(cache.look(&key("/a"), now, 4), Look::Found(_, 4)));
    // What could not be read is asked for again.
    assert_eq!(cache.keep(&key("/b"), None, later), [3]);
    assert!(matches!(cache.look(&key("/b"), now, 5), Look::IsFirst));
    // So is what has become old.
    assert!(matches!(cache.look(&key("/a"), later, 6), Look::IsFirst));
    assert_eq!(cache.size(), (1, 10));
}

#[test]
fn the_page_that_was_used_longest_ago_goes_first() {
    let mut cache = PageCache::new(25);
    let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(600));
    let keep = |cache: &mut PageCache<()>, path, bytes| {
        cache.keep(&key(path), Some((page(), bytes)), later);
    };
    keep(&mut cache, "/a", 10);
    keep(&mut cache, "/b", 10);
    assert!(matches!(cache.look(&key("/a"), now, ()), Look::Found(..)));
    keep(&mut cache, "/c", 10);
    assert_eq!(cache.size(), (2, 20));
    assert!(matches!(cache.look(&key("/a"), now, ()), Look::Found(..)));
    assert!(matches!(cache.look(&key("/b"), now, ()), Look::IsFirst));
    // One that is read again takes its own place, and one that is too large takes none.
    keep(&mut cache, "/a", 15);
    assert_eq!(cache.size(), (2, 25));
    keep(&mut cache, "/d", 26);
    assert_eq!(cache.size(), (2, 25));
}

#[test]
fn small_caches_hold_no_more_than_they_may_and_serve_all_the_same() {
    let root = Root::of_mix();
    let sizes = Sizes {
        pages: 10 * 60_000,
        handles: NonZeroUsize::new(3).unwrap(),
        ..AMPLE
    };
    serving(Policy::TimeLeft, 2, patient(), (&root, sizes), |server| {
        let mut client = Client::of(server);
        for _ in 0..2 {
            for file in some_files() {
                let answer = client.get(&format!("/{}", file.path()));
                assert!(answer.body == file.bytes(), "{}", file.path());
                let (_, bytes, handles) = server.service.kept();
                assert!(bytes <= sizes.pages && handles <= 3, "{bytes} {handles}");
            }
        }
        assert!(server.service.kept().0 > 0);
    });
}

#[test]
fn pages_and_handles_are_kept_once_for_each_path() {
    let root = Root::of_mix();
    with_server(patient(), &root, |server| {
        let mut client = Client::of(server);
        for _ in 0..2 {
            for file in some_files() {
                client.get(&format!("/{}", file.path()));
                assert_eq!(client.get("/no/such/file").status, 404);
            }
        }
        let files = some_files().len();
        // The handles are those of the files and of two directories. What keeps the last ones may
        // still be on its way.
        while server.service.kept().2 < files + 2 {
            std::thread::yield_now();
        }
        let (pages, _, handles) = server.service.kept();
        assert_eq!((pages, handles), (files, files + 2));
    });
}

#[test]
fn a_page_is_read_again_when_it_is_old() {
    let root = Root::new();
    root.write("file", b"old");
    let ages = [(Duration::ZERO, b"new" as &[u8]), (AMPLE.age, b"old")];
    for (age, expected) in ages {
        root.write("file", b"old");
        let sizes = Sizes { age, ..AMPLE };
        serving(Policy::TimeLeft, 2, patient(), (&root, sizes), |server| {
            let mut client = Client::of(server);
            assert_eq!(client.get("/file").body, b"old");
            root.write("file", b"new");
            assert_eq!(client.get("/file").body, expected);
        });
    }
}

#[test]
fn a_refusal_is_not_kept() {
    let root = Root::new();
    with_server(patient(), &root, |server| {
        let mut client = Client::of(server);
        assert_eq!(client.get("/file").status, 404);
        root.write("file", b"now");
        assert_eq!(client.get("/file").body, b"now");
    });
}
