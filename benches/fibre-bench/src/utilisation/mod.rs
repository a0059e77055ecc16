//! `utilisation`: how many cores a program with locks uses, by two models, by two simulations, and
//! measured with fibres on virtual cores.
//!
//! [`counts`] reads the numbers of threads; [`curves`] computes and measures; [`document`] makes
//! table and plot of it; [`check`] tells whether what was measured lies where theory has it. The
//! theory itself, and the program under measurement, lie in [`fibre_bench::queueing`].

mod check;
mod counts;
mod curves;
mod document;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use crate::report::Report;
use counts::Counts;
use curves::{Curves, Theory, Times};
use fibre_bench::queueing::Program;
use fibre_bench::queueing::virtual_cores::Setting;
use fibre_measure::Machine;

/// Options of `utilisation`.
#[derive(Args)]
pub(crate) struct UtilisationCommand {
    /// Numbers of threads, as `1,2,8-16` [default: 1-64; with --check some of these].
    #[arg(long, value_name = "COUNTS")]
    threads: Option<Counts>,
    /// Locks; each iteration takes one at random.
    #[arg(long, default_value_t = 16, value_parser = positive)]
    locks: usize,
    /// How long an iteration has its lock, as `5ms`.
    #[arg(long, value_name = "TIME", default_value = "40ms", value_parser = humantime::parse_duration)]
    critical: Duration,
    /// How long an iteration runs without a lock, as `5ms`; may be `0s`.
    #[arg(long, value_name = "TIME", default_value = "40ms", value_parser = humantime::parse_duration)]
    outside: Duration,
    /// Length of each measurement; at least ten iterations.
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = humantime::parse_duration)]
    window: Duration,
    /// Measurements of each number of threads, side by side if there is room.
    #[arg(long, default_value_t = 1, value_parser = positive)]
    repetitions: usize,
    /// Kernel threads for fibres [default: as many as the machine has cores for this process].
    #[arg(long, value_parser = positive)]
    processors: Option<usize>,
    /// Fibres that sleep side by side in one measurement, at most, unless one number of threads
    /// alone is larger. On a busy machine, many disturb each other.
    #[arg(long, default_value_t = 256, value_parser = positive)]
    together: usize,
    /// Where the random numbers begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw nothing: fail unless every figure lies within what theory allows, at the second or
    /// third attempt if need be.
    #[arg(long, conflicts_with = "out")]
    check: bool,
    /// Where table, plot and readings go.
    #[arg(long, value_name = "DIRECTORY", default_value = "target/utilisation")]
    out: PathBuf,
}

impl UtilisationCommand {
    /// Computes, measures, and writes down or judges.
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        let program = Program::new(self.locks, self.critical, self.outside)
            .context("`--locks`, `--critical` and `--outside` make no program")?;
        let setting = Setting {
            processors: self.processors(),
            window: self.window,
            seed: self.seed,
        };
        setting.check(&program).context("`--window`")?;
        let times = Times {
            repetitions: self.repetitions,
            together: self.together,
        };
        if self.check {
            let counts = self.threads.unwrap_or_else(Counts::checked);
            return check::run(&program, &setting, counts.as_slice(), times);
        }
        let counts = self.threads.unwrap_or_else(Counts::all);
        let mut report = Report::new(Machine::observe()).explained_in("UTILISATION.md");
        println!("{}\n", report.machine);
        let theory = Theory::of(&program, self.seed, counts.as_slice());
        let mut curves = Curves::new(program, theory);
        curves.measure(&setting, times)?;
        document::write(&mut report, &curves, &setting);
        report.write_to(&self.out)?;
        println!("written: {}", self.out.display());
        Ok(report.conclude())
    }

    /// Kernel threads for fibres.
    fn processors(&self) -> usize {
        self.processors.unwrap_or_else(fibre::default_processors)
    }
}

/// Reads a number above zero.
fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1 is needed".into()),
        Ok(number) => Ok(number),
        Err(_) => Err("not a whole number".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// The options on a command line of their own.
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        command: UtilisationCommand,
    }

    /// What is said of this option.
    fn refusal(option: &str) -> String {
        let words = std::iter::once("utilisation").chain(option.split(' '));
        match Line::try_parse_from(words) {
            Ok(line) => line
                .command
                .execute()
                .err()
                .map(|error| format!("{error:#}")),
            Err(error) => Some(error.to_string()),
        }
        .unwrap_or_default()
    }

    #[test]
    fn options_that_make_no_sense_are_refused_in_words() {
        for number in ["--locks", "--repetitions", "--processors", "--together"] {
            assert!(refusal(&format!("{number} 0")).contains("at least 1 is needed"));
            assert!(refusal(&format!("{number} x")).contains("not a whole number"));
        }
        assert!(refusal("--threads 0").contains("there may be 1 to 4096"));
        assert!(refusal("--critical 5").contains("time unit needed"));
        assert!(refusal("--critical 0s").contains("the critical section has to take some time"));
        assert!(refusal("--window 799ms").contains("is too short"));
        assert!(refusal("--check --out x").contains("cannot be used with"));
    }

    #[test]
    fn usual_options_make_a_program() -> anyhow::Result<()> {
        let command = Line::try_parse_from(["utilisation"])?.command;
        let program = Program::new(command.locks, command.critical, command.outside)?;
        assert_eq!(program.limit(), 32.0);
        assert!(command.threads.is_none() && !command.check);
        Ok(())
    }
}
