//! What clients get for what they ask.

use crate::front::limits::Limits;
use crate::http::Client;
use crate::serving::{POLICIES, patient};
use crate::specweb::File;
use crate::support::{AMPLE, DIRECTORIES, LARGE, Root, serving, some_files, with_server};
use std::os::unix::fs::symlink;

#[test]
fn files_are_served_under_every_policy_with_colours_and_without() {
    let root = Root::of_mix();
    for policy in POLICIES {
        for (processors, one_colour) in [(1, false), (2, false), (4, false), (2, true)] {
            let limits = Limits {
                one_colour,
                ..patient()
            };
            serving(policy, processors, limits, (&root, AMPLE), |server| {
                let readers: Vec<_> = (0..4)
                    .map(|number| {
                        let mut client = Client::of(server);
                        std::thread::spawn(move || {
                            let files = some_files();
                            // From different places on, so that some miss and others find.
                            for index in 0..files.len() {
                                let file = files[(index + number * 7) % files.len()];
                                let answer = client.get(&format!("/{}", file.path()));
                                assert_eq!((answer.status, answer.closes), (200, false));
                                assert!(answer.body == file.bytes(), "{}", file.path());
                            }
                        })
                    })
                    .collect();
                readers
                    .into_iter()
                    .for_each(|reader| reader.join().unwrap());
            });
        }
    }
}

#[test]
fn the_largest_class_arrives_whole_from_the_disk_and_from_the_cache() {
    let root = Root::of_mix();
    with_server(patient(), &root, |server| {
        let mut client = Client::of(server);
        let large = File::all(DIRECTORIES).filter(|file| file.size() >= 100_000);
        for file in large {
            for _ in 0..2 {
                let answer = client.get(&format!("/{}", file.path()));
                assert!(answer.body == file.bytes(), "{}", file.path());
            }
        }
    });
}

#[test]
fn clients_that_want_the_same_page_at_once_all_get_it() {
    let root = Root::of_mix();
    with_server(patient(), &root, |server| {
        for file in some_files() {
            let mut clients: Vec<Client> = (0..16).map(|_| Client::of(server)).collect();
            for client in &mut clients {
                client.ask("GET", &format!("/{}", file.path()));
            }
            for client in &mut clients {
                assert!(client.answer(true).body == file.bytes());
            }
        }
    });
}

#[test]
fn a_pipeline_is_answered_in_order() {
    let root = Root::of_mix();
    with_server(patient(), &root, |server| {
        let mut client = Client::of(server);
        let requests: String = some_files()
            .iter()
            .map(|file| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", file.path()))
            .collect();
        client.send(requests.as_bytes());
        client.ends();
        for file in some_files() {
            assert!(client.answer(true).body == file.bytes(), "{}", file.path());
        }
        assert_eq!(client.rest(), b"");
    });
}

#[test]
fn a_file_has_the_media_type_of_its_name() {
    let root = Root::new();
    root.write("a/index.html", b"<p>");
    root.write("plain", b"");
    with_server(patient(), &root, |server| {
        for (path, media_type) in [
            ("/a/index.html", "text/html; charset=utf-8"),
            ("/plain?query", "application/octet-stream"),
        ] {
            let mut client = Client::of(server);
            client.send(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes());
            let answer = String::from_utf8(client.rest()).unwrap();
            let field = format!("\r\nContent-Type: {media_type}\r\n");
            assert!(answer.contains(&field), "{answer}");
        }
    });
}

#[test]
fn head_has_no_body_and_other_methods_are_not_allowed() {
    let root = Root::new();
    root.write("file", b"hello");
    with_server(patient(), &root, |server| {
        let mut client = Client::of(server);
        for _ in 0..2 {
            client.ask("HEAD", "/file");
            assert_eq!(client.answer(false).status, 200);
        }
        client.ask("DELETE", "/file");
        assert_eq!(client.answer(true).status, 405);
        assert_eq!(client.get("/file").body, b"hello");
    });
}

#[test]
fn what_is_no_file_below_the_root_is_not_found() {
    let root = Root::new();
    root.write("site/inside", b"inside");
    root.write("outside", b"outside");
    let site = Root::new();
    root.write("site/deep/er/file", b"file");
    symlink(root.path().join("outside"), site.path().join("link")).unwrap();
    symlink(root.path(), site.path().join("directory")).unwrap();
    site.write("file", b"file");
    let pipe = site.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    with_server(patient(), &site, |server| {
        let mut client = Client::of(server);
        let deep = "/a".repeat(17);
        for path in [
            "/",
            "//file",
            "/file/",
            "/file/x",
            "/./file",
            "/../outside",
            "/link",
            "/directory/outside",
            "/pipe",
            "/no/such/file",
            "/%66ile",
            &deep,
        ] {
            for _ in 0..2 {
                let answer = client.get(path);
                assert_eq!((answer.status, answer.closes), (404, false), "{path}");
            }
        }
        assert_eq!(client.get("/file").body, b"file");
    });
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let root = Root::new();
    root.write("most", &vec![b'x'; LARGE]);
    root.write("more", &vec![b'x'; LARGE + 1]);
    with_server(patient(), &root, |server| {
        let mut client = Client::of(server);
        assert_eq!(client.get("/most").body.len(), LARGE);
        assert_eq!(client.get("/more").status, 403);
    });
}
