//! The oldest compiler that is promised is the one that CI builds with, and all texts name it.

use std::process::Command;

use anyhow::Result;

use crate::tidy::source::Violation;
use crate::workspace::Workspace;

/// The file that makes the promise to cargo.
const MANIFEST: &str = "Cargo.toml";

/// The manifest of a workspace of its own, which cannot inherit it.
const PEERS: &str = "benches/fibre-bench/peers/actors/Cargo.toml";

/// The file that makes it to people, and how the sentence begins.
const README: &str = "README.md";
const PROMISE: &str = "**Which Rust**: ";

/// What is compared.
struct Texts<'a> {
    manifest: &'a str,
    peers: &'a str,
    readme: &'a str,
    /// What `rustc --version` prints where CI runs; elsewhere any newer compiler will do.
    ci: Option<&'a str>,
}

/// Reads the texts, and checks them.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<Violation>> {
    let read = |path: &str| std::fs::read_to_string(workspace.root().join(path));
    let (manifest, peers, readme) = (read(MANIFEST)?, read(PEERS)?, read(README)?);
    let ci = match std::env::var_os("CI") {
        Some(_) => {
            let output = Command::new("rustc").arg("--version").output()?;
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        None => None,
    };
    let texts = Texts {
        manifest: &manifest,
        peers: &peers,
        readme: &readme,
        ci: ci.as_deref(),
    };
    Ok(texts.check())
}

impl Texts<'_> {
    fn check(&self) -> Vec<Violation> {
        let Some(promised) = promised(self.manifest) else {
            return vec![violation(MANIFEST, "no `rust-version`".into())];
        };
        let mut found = Vec::new();
        if self::promised(self.peers) != Some(promised) {
            let words = format!("another `rust-version` than {promised}");
            found.push(violation(PEERS, words));
        }
        let sentence = format!("{PROMISE}{promised} or newer");
        if !self.readme.contains(&sentence) {
            found.push(violation(README, format!("does not say {sentence:?}")));
        }
        if let Some(compiler) = self.ci
            && !compiler.starts_with(&format!("rustc {promised}."))
        {
            let words = format!("promises Rust {promised}, and CI builds with {compiler:?}");
            found.push(violation(MANIFEST, words));
        }
        found
    }
}

/// The version in a manifest.
fn promised(manifest: &str) -> Option<&str> {
    let mut lines = manifest.lines();
    let value = lines.find_map(|line| line.strip_prefix("rust-version = "))?;
    Some(value.trim_matches('"'))
}

/// What is wrong with a file.
fn violation(path: &str, text: String) -> Violation {
    Violation {
        place: path.to_owned(),
        line: 0,
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many rules are broken.
    fn broken(peers: &str, readme: &str, ci: Option<&str>) -> usize {
        let texts = Texts {
            manifest: "[workspace.package]\nrust-version = \"1.95\"\n",
            peers,
            readme,
            ci,
        };
        texts.check().len()
    }

    #[test]
    fn all_texts_and_ci_have_one_version() {
        let (peers, readme) = (
            "rust-version = \"1.95\"",
            "**Which Rust**: 1.95 or newer, which",
        );
        assert_eq!(broken(peers, readme, None), 0);
        assert_eq!(
            broken(peers, readme, Some("rustc 1.95.0 (59807616e 2026-04-14)")),
            0
        );
        assert_eq!(broken("rust-version = \"1.94\"", readme, None), 1);
        assert_eq!(broken("", readme, None), 1);
        assert_eq!(broken(peers, "**Which Rust**: 1.96 or newer", None), 1);
        assert_eq!(broken(peers, readme, Some("rustc 1.96.0 (x)")), 1);
        assert_eq!(broken(peers, readme, Some("rustc 1.950.0")), 1);
    }
}
