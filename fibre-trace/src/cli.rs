//! The command line.

use crate::file::File;
use crate::history::History;
use crate::perfetto::draw;
use crate::summary::Summary;
use anyhow::{Context, Result, bail};
use clap::Parser;
use std::fs;
use std::io::{ErrorKind, Write, stdout};
use std::path::PathBuf;

/// Reads a trace that a program has written with `FIBRE_TRACE`
#[derive(Debug, Parser)]
#[command(name = "fibre-trace", version)]
pub(crate) struct Cli {
    /// The trace
    file: PathBuf,
    /// Writes what <https://ui.perfetto.dev> shows to this file, such as out.pftrace
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// How many fibres get a track of their own there
    #[arg(long, default_value_t = 500)]
    fibres: usize,
    /// Prints a summary; the default without --output
    #[arg(long)]
    summary: bool,
}

impl Cli {
    /// Does what is asked for.
    pub(crate) fn execute(self) -> Result<()> {
        let name = self.file.display();
        let bytes = fs::read(&self.file).with_context(|| format!("cannot read {name}"))?;
        let file = File::read(&bytes).with_context(|| format!("cannot use {name}"))?;
        drop(bytes);
        let history = History::of(&file);
        if let Some(output) = &self.output {
            let name = output.display();
            if output
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                bail!(
                    "{name} would be no JSON: Perfetto's own format is written, as in out.pftrace"
                );
            }
            let drawn = draw(&file, &history, self.fibres);
            fs::write(output, drawn).with_context(|| format!("cannot write {name}"))?;
        }
        if self.summary || self.output.is_none() {
            let text = Summary::new(&file, &history).to_string();
            match stdout().write_all(text.as_bytes()) {
                // Somebody reads the beginning only.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                written => written.context("cannot write the summary")?,
            }
        }
        Ok(())
    }
}
