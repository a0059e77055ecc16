//! The files of a directory, and nothing beyond it.

use std::fs;
use std::os::unix::fs::symlink;

use super::server::{Directory, Server};

/// A directory `root` with some files, and a file beside it that is secret.
fn site(test: &str) -> Directory {
    let site = Directory::new(test);
    fs::create_dir_all(site.join("root/sub/empty")).unwrap();
    fs::write(site.join("secret"), "secret").unwrap();
    fs::write(site.join("root/index.html"), "<h1>root</h1>").unwrap();
    fs::write(site.join("root/sub/index.html"), "<h1>sub</h1>").unwrap();
    fs::write(site.join("root/style.css"), "a {}").unwrap();
    fs::write(site.join("root/with space.txt"), "space").unwrap();
    fs::write(site.join("root/PHOTO.JPG"), [0xff, 0xd8]).unwrap();
    fs::write(site.join("root/unknown"), "").unwrap();
    symlink("style.css", site.join("root/inside")).unwrap();
    symlink("../secret", site.join("root/outside")).unwrap();
    symlink(site.join("secret"), site.join("root/absolute")).unwrap();
    symlink("..", site.join("root/above")).unwrap();
    symlink("loop", site.join("root/loop")).unwrap();
    site
}

#[test]
fn files_have_their_content_and_type() {
    let site = site("content");
    let server = site.serve();
    let mut client = server.connect();
    for (path, kind, body) in [
        ("/", "text/html; charset=utf-8", "<h1>root</h1>".as_bytes()),
        ("/index.html", "text/html; charset=utf-8", b"<h1>root</h1>"),
        (
            "/index.html?version=1#top",
            "text/html; charset=utf-8",
            b"<h1>root</h1>",
        ),
        ("/sub", "text/html; charset=utf-8", b"<h1>sub</h1>"),
        ("/sub/", "text/html; charset=utf-8", b"<h1>sub</h1>"),
        (
            "//sub//index.html",
            "text/html; charset=utf-8",
            b"<h1>sub</h1>",
        ),
        ("/sub/../style.css", "text/css; charset=utf-8", b"a {}"),
        ("/style%2ecss", "text/css; charset=utf-8", b"a {}"),
        ("/with%20space.txt", "text/plain; charset=utf-8", b"space"),
        ("/PHOTO.JPG", "image/jpeg", b"\xff\xd8"),
        ("/unknown", "application/octet-stream", b""),
        ("/inside", "application/octet-stream", b"a {}"),
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.field("content-type"), Some(kind), "{path}");
        assert_eq!(answer.body, body, "{path}");
    }
    server.expect_clean_stop();
}

#[test]
fn what_is_not_there_is_not_found() {
    let site = site("missing");
    let server = site.serve();
    let mut client = server.connect();
    let long = format!("/{}", "x".repeat(300));
    for path in [
        "/missing",
        "/style.css/",
        "/style.css/more",
        "/sub/empty",
        "/loop",
        &long,
    ] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
}

#[test]
fn no_path_leads_out() {
    let site = site("traversal");
    let server = site.serve();
    let mut client = server.connect();
    for path in [
        "/../secret",
        "/sub/../../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "/%2E%2E%2Fsecret",
        "/.%2e/secret",
        "/sub/%2e%2e/%2e%2e/secret",
        "//../secret",
        "/%2f../secret",
        "/outside",
        "/absolute",
        "/above/secret",
        "/above/root/style.css",
        "/..",
        "/%2fetc%2fpasswd",
        "//etc/passwd",
        "http://test/../secret",
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(
            !answer.body.windows(6).any(|window| window == b"secret"),
            "{path}"
        );
    }
    // Encoding is resolved once, not twice.
    assert_eq!(client.get("/%252e%252e/secret").status, 404);
    server.expect_clean_stop();
}

#[test]
fn only_files_are_read() {
    let site = site("special");
    let pipe = site.join("root/pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let server = site.serve();
    let mut client = server.connect();
    assert_eq!(client.get("/pipe").status, 404);
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn large_files_arrive_whole() {
    let site = site("large");
    for size in [65_535, 65_536, 65_537, 131_072, 5_000_000_usize] {
        let bytes: Vec<u8> = (0..size).map(|index| (index % 251) as u8).collect();
        fs::write(site.join(&format!("root/{size}")), bytes).unwrap();
    }
    let server = site.serve();
    let start = server.open_files_at_rest();
    let mut client = server.connect();
    for size in [65_535, 65_536, 65_537, 131_072, 5_000_000_usize] {
        let answer = client.get(&format!("/{size}"));
        assert_eq!(answer.body.len(), size);
        let intact = answer
            .body
            .iter()
            .enumerate()
            .all(|(index, byte)| *byte == (index % 251) as u8);
        assert!(intact, "{size}");
    }
    client.send("HEAD /5000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(
        client.answer_to_head().unwrap().unwrap().length(),
        5_000_000
    );
    assert_eq!(client.get("/").status, 200);
    drop(client);
    server.expect_open_files(start);
}

#[test]
fn without_a_directory_there_is_one_page() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    assert!(client.get("/").body.starts_with(b"<!doctype html>"));
    assert_eq!(client.get("/index.html").status, 200);
    assert_eq!(client.get("/Cargo.toml").status, 404);
}
