//! What counts depend on besides our sources: the compiler, the libraries, the counter.

use std::env;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

/// The keys of a setting in the file of counts.
const KEYS: [&str; 6] = [
    "target",
    "profile",
    "rustc",
    "rustflags",
    "libc",
    "valgrind",
];

/// What was in use when something was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting([String; KEYS.len()]);

impl Setting {
    /// What is in use here.
    pub(crate) fn here(profile: &str) -> Result<Self> {
        let rustc = output("rustc", &["-vV"])?;
        let target = rustc
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .context("`rustc -vV` names no host")?;
        Ok(Self([
            target.to_owned(),
            profile.to_owned(),
            first_line(&rustc),
            env::var("RUSTFLAGS").unwrap_or_default(),
            first_line(&output("getconf", &["GNU_LIBC_VERSION"])?),
            first_line(&output("valgrind", &["--version"])?),
        ]))
    }

    /// Reads what [`to_table`](Self::to_table) made.
    pub(crate) fn from_table(table: &Table) -> Result<Self> {
        let mut values = KEYS.map(str::to_owned);
        for value in &mut values {
            let found = table.get(value.as_str()).and_then(Value::as_str);
            *value = found
                .with_context(|| format!("no text under `{value}`"))?
                .to_owned();
        }
        Ok(Self(values))
    }

    /// The table that is written to the file of counts.
    pub(crate) fn to_table(&self) -> Table {
        let values = self.0.iter().map(|value| Value::from(value.as_str()));
        KEYS.iter()
            .map(|key| (*key).to_owned())
            .zip(values)
            .collect()
    }

    /// What machines the compiler built for.
    pub(crate) fn target(&self) -> &str {
        &self.0[0]
    }

    /// How this setting differs from the one that counts were `kept` in; a line each.
    pub(crate) fn differences(&self, kept: &Self) -> Vec<String> {
        KEYS.iter()
            .zip(self.0.iter().zip(&kept.0))
            .filter(|(_, (here, then))| here != then)
            .map(|(key, (here, then))| {
                format!("the {key} of the kept counts was `{then}`, and is `{here}`")
            })
            .collect()
    }
}

/// What a program prints.
fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    ensure!(
        output.status.success(),
        "{program} failed: {}",
        output.status
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first line of a text.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setting with this compiler.
    fn setting(rustc: &str) -> Setting {
        let values = [
            "x86_64-unknown-linux-gnu",
            "release",
            rustc,
            "",
            "glibc 2.36",
            "3.19",
        ];
        Setting(values.map(str::to_owned))
    }

    #[test]
    fn a_setting_survives_the_file() {
        let setting = setting("rustc 1.95.0");
        assert_eq!(Setting::from_table(&setting.to_table()).unwrap(), setting);
        assert!(Setting::from_table(&Table::new()).is_err());
    }

    #[test]
    fn another_compiler_is_named() {
        let (old, new) = (setting("rustc 1.95.0"), setting("rustc 1.96.0"));
        assert!(old.differences(&old).is_empty());
        let differences = new.differences(&old);
        assert_eq!(differences.len(), 1);
        assert!(differences[0].contains("was `rustc 1.95.0`, and is `rustc 1.96.0`"));
    }
}
