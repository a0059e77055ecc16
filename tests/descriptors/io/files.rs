//! Files: what std's do, on another thread, and many at once.

use crate::support::process::{end_after, errors, no_core_file, plays, spawn_child};
use crate::support::{
    Random, eventually, for_clusters, for_each_cluster, let_others_block, watched,
};
use fibre::fs::{self, File, OpenOptions, TryLockError};
use std::collections::BTreeSet;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A directory that is removed in the end.
struct Directory(PathBuf);

impl Directory {
    /// A new one, in which the file system keeps files in its cache.
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fibre-files-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// A path in it.
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Bytes that differ with the place.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i / 251 + i) as u8).collect()
}

/// A new file for both directions.
fn both_ways(path: &Path) -> File {
    File::create_new(path).unwrap()
}

/// What is written is read again, in whole, in pieces, and at random places; on fibres and on
/// threads.
#[test]
fn bytes_come_back() {
    fn check() {
        let directory = Directory::new();
        let bytes = pattern(700_000);
        let mut file = both_ways(&directory.path("a"));
        for piece in bytes.chunks(99_999) {
            file.write_all(piece).unwrap();
        }
        assert_eq!(file.stream_position().unwrap(), bytes.len() as u64);
        let mut all = Vec::new();
        file.rewind().unwrap();
        assert_eq!(file.read_to_end(&mut all).unwrap(), bytes.len());
        assert_eq!(all, bytes);
        assert_eq!(file.read(&mut [0; 8]).unwrap(), 0);
        // Small reads, in place, and one that is too large for that.
        file.seek(SeekFrom::Start(1)).unwrap();
        file.seek(SeekFrom::Current(9)).unwrap();
        let mut piece = vec![0; 1000];
        file.read_exact(&mut piece).unwrap();
        assert_eq!(piece, bytes[10..1010]);
        let mut rest = vec![0; bytes.len() - 1010];
        file.read_exact(&mut rest).unwrap();
        assert_eq!(rest, bytes[1010..]);
        let (mut one, mut other) = ([0; 5], [0; 7]);
        assert_eq!(
            file.seek(SeekFrom::End(-12)).unwrap(),
            bytes.len() as u64 - 12
        );
        let mut buffers = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut other)];
        assert_eq!(file.read_vectored(&mut buffers).unwrap(), 12);
        assert_eq!([&one[..], &other].concat(), bytes[bytes.len() - 12..]);
        assert!(file.seek(SeekFrom::Current(i64::MIN)).is_err());
    }
    for_each_cluster(|_| check());
    watched(check);
}

/// Reading and writing at given places leaves the position alone.
#[test]
fn places() {
    for_each_cluster(|_| {
        let directory = Directory::new();
        let mut file = both_ways(&directory.path("a"));
        let bytes = pattern(100_000);
        file.write_all_at(&bytes, 0).unwrap();
        assert_eq!(file.stream_position().unwrap(), 0);
        let mut random = Random::new(Random::seed());
        for _ in 0..200 {
            let start = random.below(bytes.len());
            let mut piece = vec![0; random.below(5000)];
            let count = file.read_at(&mut piece, start as u64).unwrap();
            assert_eq!(piece[..count], bytes[start..start + count]);
            assert!(count == piece.len() || start + count == bytes.len());
        }
        assert_eq!(file.read_at(&mut [0; 9], 1 << 40).unwrap(), 0);
        let error = file.read_at(&mut [0; 9], u64::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        file.set_len(10).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 10);
        let pieces = [IoSlice::new(b"ab"), IoSlice::new(b"cde")];
        assert_eq!(file.write_vectored(&pieces).unwrap(), 5);
        file.sync_all().unwrap();
        assert_eq!(fs::read(directory.path("a")).unwrap()[..5], *b"abcde");
    });
}

/// A thousand fibres read files at the same time, each its own and all of one handle.
#[test]
fn a_thousand_readers() {
    for_each_cluster(|_| {
        let directory = Directory::new();
        let shared = both_ways(&directory.path("shared"));
        shared.write_all_at(&pattern(1 << 16), 0).unwrap();
        let expected = pattern(1 << 16);
        fibre::scope(|scope| {
            for i in 0..1000_usize {
                let (directory, shared, expected) = (&directory, &shared, &expected);
                scope.spawn(move || {
                    let path = directory.path(&i.to_string());
                    fs::write(&path, i.to_string()).unwrap();
                    assert_eq!(fs::read_to_string(&path).unwrap(), i.to_string());
                    let mut piece = [0; 64];
                    shared.read_exact_at(&mut piece, 64 * i as u64).unwrap();
                    assert_eq!(piece[..], expected[64 * i..64 * (i + 1)]);
                });
            }
        });
        let names: BTreeSet<_> = fs::read_dir(&directory.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names.len(), 1001);
    });
}

/// One handle's position serves many: each byte is read once.
#[test]
fn one_position_for_many() {
    for_each_cluster(|_| {
        let directory = Directory::new();
        let file = both_ways(&directory.path("a"));
        // The read of each sixth piece is too large to be made in place.
        let bytes = vec![1; 6 << 20];
        file.write_all_at(&bytes, 0).unwrap();
        let sum = AtomicUsize::new(0);
        fibre::scope(|scope| {
            for i in 0..6 {
                let (file, sum) = (&file, &sum);
                scope.spawn(move || {
                    let mut buffer = vec![0; if i == 0 { 1 << 20 } else { 1 << 12 }];
                    let mut file = file;
                    while let Ok(count @ 1..) = file.read(&mut buffer) {
                        let read: usize = buffer[..count].iter().map(|&it| usize::from(it)).sum();
                        assert_eq!(read, count);
                        sum.fetch_add(count, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), bytes.len());
    });
}

/// All that takes paths does what std's does.
#[test]
fn paths() {
    for_clusters(&[1], |_| {
        let directory = Directory::new();
        let (a, b, deep) = (
            directory.path("a"),
            directory.path("b"),
            directory.path("x/y/z"),
        );
        fs::write(&a, "text").unwrap();
        assert_eq!(fs::copy(&a, &b).unwrap(), 4);
        fs::rename(&b, directory.path("c")).unwrap();
        assert!(!fs::exists(&b).unwrap());
        fs::hard_link(&a, &b).unwrap();
        assert!(fs::metadata(&b).unwrap().is_file());
        fs::symlink("a", directory.path("link")).unwrap();
        assert_eq!(
            fs::read_link(directory.path("link")).unwrap(),
            Path::new("a")
        );
        assert!(
            fs::symlink_metadata(directory.path("link"))
                .unwrap()
                .is_symlink()
        );
        let real = fs::canonicalize(directory.path("link")).unwrap();
        assert_eq!(real, fs::canonicalize(&a).unwrap());
        let mut permissions = fs::metadata(&a).unwrap().permissions();
        permissions.set_mode(0o400);
        fs::set_permissions(&a, permissions).unwrap();
        assert_eq!(
            fs::metadata(&a).unwrap().permissions().mode() & 0o777,
            0o400
        );
        fs::create_dir_all(&deep).unwrap();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).create(deep.join("more")).unwrap();
        assert!(fs::remove_dir(directory.path("x")).is_err());
        let kinds: BTreeSet<_> = fs::read_dir(&directory.0)
            .unwrap()
            .map(Result::unwrap)
            .map(|entry| {
                assert_eq!(entry.path().parent(), Some(&*directory.0));
                let kind = entry.file_type().unwrap();
                assert_eq!(kind, entry.metadata().unwrap().file_type());
                (entry.file_name(), kind.is_dir(), kind.is_symlink())
            })
            .collect();
        let expected = ["a", "b", "c", "link", "x"].map(|it| (it.into(), it == "x", it == "link"));
        assert_eq!(kinds, BTreeSet::from(expected));
        fs::remove_dir_all(directory.path("x")).unwrap();
        fs::remove_file(&a).unwrap();
        assert_eq!(fs::read(&a).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read_dir(&a).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(File::open(&a).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

/// Options, attributes and locks of open files.
#[test]
fn open_files() {
    for_clusters(&[2], |_| {
        let directory = Directory::new();
        let path = directory.path("a");
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        for _ in 0..2 {
            options.open(&path).unwrap().write_all(b"line\n").unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "line\nline\n");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            File::create_new(&path).unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        let (one, other) = (File::open(&path).unwrap(), File::open(&path).unwrap());
        one.lock().unwrap();
        assert!(other.try_lock_shared().is_err());
        fibre::scope(|scope| {
            let waiting = scope.spawn(|| other.lock());
            fibre::sleep(std::time::Duration::from_millis(2));
            assert!(!waiting.is_finished());
            one.unlock().unwrap();
            waiting.join().unwrap().unwrap();
        });
        other.unlock().unwrap();
        let clone = one.try_clone().unwrap();
        let mut std: std::fs::File = clone.into();
        std.seek(SeekFrom::Start(5)).unwrap();
        let mut text = String::new();
        (&one).read_to_string(&mut text).unwrap();
        assert_eq!(text, "line\n");
        assert_eq!(File::create(&path).unwrap().metadata().unwrap().len(), 0);
    });
}

/// Files that are none on a disk: nothing is known of them in advance, and all is read.
#[test]
fn other_files() {
    for_each_cluster(|_| {
        let mut file = File::open("/proc/self/status").unwrap();
        let mut text = String::new();
        let mut buffer = [0; 100];
        while let count @ 1.. = file.read(&mut buffer).unwrap() {
            text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        assert!(text.contains("Threads:"));
        let mut zeros = [1; 4096];
        File::open("/dev/zero")
            .unwrap()
            .read_exact(&mut zeros)
            .unwrap();
        assert_eq!(zeros, [0; 4096]);
        assert!(File::open("/").unwrap().read(&mut zeros).is_err());
    });
}

/// A fibre that reads what is cached, and need not wait for it, lets others run.
#[test]
fn readers_let_others_run() {
    for_clusters(&[1], |_| {
        let directory = Directory::new();
        let file = both_ways(&directory.path("a"));
        file.write_all_at(&pattern(4096), 0).unwrap();
        let stop = AtomicUsize::new(0);
        fibre::scope(|scope| {
            scope.spawn(|| {
                let mut buffer = [0; 4096];
                while stop.load(Ordering::Relaxed) == 0 {
                    assert_eq!(file.read_at(&mut buffer, 0).unwrap(), 4096);
                }
                assert_eq!(buffer[..], pattern(4096));
            });
            scope.spawn(|| stop.store(1, Ordering::Relaxed));
        });
    });
}

/// Those who wait for a file's lock take no thread from who has it, and has things to do before it
/// ends the lock.
#[test]
fn who_waits_for_a_lock_is_in_nobodys_way() {
    if !plays("locker") {
        let output = spawn_child("locker", &[("FIBRE_BLOCKING_THREADS", "1")]);
        assert!(output.status.success(), "{}", errors(&output));
        return;
    }
    no_core_file();
    end_after(Duration::from_secs(20));
    for_clusters(&[1], |_| {
        let directory = Directory::new();
        let path = directory.path("locked");
        let mut file = both_ways(&path);
        file.lock().unwrap();
        let tried = Arc::new(AtomicUsize::new(0));
        let opens = || {
            let (path, tried) = (path.clone(), Arc::clone(&tried));
            let other = File::open(&path).unwrap();
            fibre::spawn(move || {
                assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
                tried.fetch_add(1, Ordering::SeqCst);
                other.lock_shared().unwrap();
                other.metadata().unwrap().len()
            })
        };
        let others = [(); 3].map(|()| opens());
        eventually(|| tried.load(Ordering::SeqCst) == 3);
        fibre::sleep(Duration::from_millis(20));
        file.write_all(b"words").unwrap();
        file.unlock().unwrap();
        for other in others {
            assert_eq!(other.join().unwrap(), 5);
        }
    });
}

/// A cancelled fibre can still write and read files.
#[test]
fn cancelled_fibres_use_files() {
    for_each_cluster(|_| {
        let fibre = fibre::spawn(|| {
            eventually(fibre::is_cancelled);
            let directory = Directory::new();
            fs::write(directory.path("last"), "words").unwrap();
            fs::read_to_string(directory.path("last")).unwrap()
        });
        fibre.cancel();
        assert_eq!(fibre.join().unwrap(), "words");
    });
}

/// Those who wait for the other end of a named pipe take no thread from who opens it.
#[test]
fn who_opens_a_named_pipe_is_in_nobodys_way() {
    if !plays("plumber") {
        let output = spawn_child("plumber", &[("FIBRE_BLOCKING_THREADS", "1")]);
        assert!(output.status.success(), "{}", errors(&output));
        return;
    }
    no_core_file();
    end_after(Duration::from_secs(30));
    let served = fibre::spawn(|| {
        let directory = Directory::new();
        let path = directory.path("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let path = path.clone();
                fibre::spawn(move || File::open(path)?.read_exact(&mut [0]))
            })
            .collect();
        let_others_block();
        let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
        let_others_block();
        writer.write_all(b"four").unwrap();
        for reader in readers {
            reader.join().unwrap().unwrap();
        }
        drop(writer);
        let reader = path.clone();
        let reader = fibre::spawn(move || fibre::fs::read(reader));
        let_others_block();
        fibre::fs::write(&path, "all").unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), b"all");
    });
    served.join().unwrap();
}
