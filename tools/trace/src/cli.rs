//! The command line.

use crate::file::{File, MAGIC};
use crate::history::History;
use crate::summary::Summary;
use crate::{perfetto, picture};
use anyhow::{Context, Result, bail};
use clap::Parser;
use std::fs;
use std::io::{ErrorKind, Read, Write, stdout};
use std::path::PathBuf;
use std::time::Duration;

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
    /// Draws a short time of it to this file, such as out.svg
    #[arg(short, long)]
    picture: Option<PathBuf>,
    /// How long a time the picture shows, such as 500us or 20ms
    #[arg(long, default_value = "1ms", value_parser = humantime::parse_duration)]
    length: Duration,
    /// How long before the end of the trace the picture begins [default: as long as it shows]
    #[arg(long, value_parser = humantime::parse_duration)]
    back: Option<Duration>,
    /// Prints a summary; the default without --output and --picture
    #[arg(long)]
    summary: bool,
}

impl Cli {
    /// Does what is asked for.
    pub(crate) fn execute(self) -> Result<()> {
        let name = self.file.display();
        let bytes = self.bytes()?;
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
            let drawn = perfetto::draw(&file, &history, self.fibres);
            fs::write(output, drawn).with_context(|| format!("cannot write {name}"))?;
        }
        if let Some(output) = &self.picture {
            let (length, back) = (self.length, self.back.unwrap_or(self.length));
            let drawn = picture::draw(&file, &history, nanoseconds(back), nanoseconds(length));
            let name = output.display();
            svg::save(output, &drawn).with_context(|| format!("cannot write {name}"))?;
        }
        if self.summary || (self.output.is_none() && self.picture.is_none()) {
            let text = Summary::new(&file, &history).to_string();
            match stdout().write_all(text.as_bytes()) {
                // Somebody reads the beginning only.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                written => written.context("cannot write the summary")?,
            }
        }
        Ok(())
    }

    /// The bytes of the trace. What does not begin like one is not read on: it may never end.
    fn bytes(&self) -> Result<Vec<u8>> {
        let name = self.file.display();
        let mut bytes = Vec::new();
        let read = fs::File::open(&self.file).and_then(|mut input| {
            let head = MAGIC.len() as u64;
            Read::by_ref(&mut input)
                .take(head)
                .read_to_end(&mut bytes)?;
            if bytes == MAGIC {
                input.read_to_end(&mut bytes)?;
            }
            Ok(())
        });
        read.with_context(|| format!("cannot read {name}"))?;
        Ok(bytes)
    }
}

/// A time in nanoseconds.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
