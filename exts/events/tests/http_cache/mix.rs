//! The load's files are those of SPECweb99.

use crate::specweb::File;
use std::collections::HashMap;

#[test]
fn twenty_directories_are_720_files_of_100_megabytes() {
    let sizes: Vec<usize> = File::all(20).map(File::size).collect();
    assert_eq!(sizes.len(), 720);
    let all: usize = sizes.iter().sum();
    assert!((97 << 20..105 << 20).contains(&all), "{all}");
    assert_eq!((sizes[0], sizes[35]), (102, 921_600));
}

#[test]
fn each_class_and_directory_has_its_share() {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for random in 0..1_000_000 {
        // Numbers without a common divisor go through all residues.
        let file = File::chosen(4, [random * 7919, random * 104_729, random * 1_299_709]);
        let path = file.path();
        let (directory, name) = path.split_once('/').unwrap();
        *counts.entry(directory.into()).or_default() += 1;
        *counts.entry(name[..6].into()).or_default() += 1;
    }
    let share = |name: &str| counts[name] as f64 / 1e6;
    for (class, expected) in [("class0", 0.35), ("class1", 0.5), ("class2", 0.14)] {
        assert!((share(class) - expected).abs() < 0.01, "{class}");
    }
    // Zipf's law: the second has half of the first.
    let (first, second) = (share("dir00000"), share("dir00001"));
    assert!((first / second - 2.0).abs() < 0.1, "{first} {second}");
}
