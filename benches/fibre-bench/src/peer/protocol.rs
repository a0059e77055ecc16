//! The peer protocol: how a peer program is asked, and how it answers.
//!
//! `PEER` prints the names of its workloads, one a line, each with the variants that it has beside
//! the usual one. `PEER WORKLOAD key=value…` runs one repetition and prints its [`Sample`] as one
//! line of JSON. Every workload takes the keys `processors` (how many kernel threads may run
//! fibres), `seconds` (how long the measured part should take) and `variant`; what else it takes,
//! its [`Parameters`] say. What cannot be understood is refused with exit code 2, before anything
//! runs; what fails has exit code 1. Either prints a message on standard error.

use std::any::Any;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::{env, fmt};

use anyhow::anyhow;

use crate::measure::Sample;

/// Exit code of what cannot be understood.
const REFUSED: u8 = 2;

/// One workload of a peer.
pub struct Workload {
    /// What it is asked for by.
    name: &'static str,
    /// Reads its parameters and makes the repetition ready.
    prepare: Box<Prepare>,
    /// The same in other ways, by their names.
    variants: Vec<(&'static str, Box<Prepare>)>,
}

/// Takes what it needs from the command line.
type Prepare = dyn Fn(&mut Arguments) -> Result<Repetition, Refusal>;

/// A repetition that only waits to be run.
type Repetition = Box<dyn FnOnce() -> anyhow::Result<Sample>>;

impl Workload {
    /// The workload of this name, which is run like this.
    pub(crate) fn new<P: Parameters>(
        name: &'static str,
        run: fn(P) -> anyhow::Result<Sample>,
    ) -> Self {
        Self {
            name,
            prepare: prepared(run),
            variants: Vec::new(),
        }
    }

    /// This workload, which in a variant of this name is run like that.
    pub(crate) fn variant<P: Parameters>(
        mut self,
        name: &'static str,
        run: fn(P) -> anyhow::Result<Sample>,
    ) -> Self {
        self.variants.push((name, prepared(run)));
        self
    }

    /// What it is asked for by.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// How it is listed: its name and those of its variants.
    fn listed(&self) -> String {
        let variants = self.variants.iter().map(|&(name, _)| format!(" {name}"));
        std::iter::once(self.name.into()).chain(variants).collect()
    }

    /// What makes this variant ready, or the usual way.
    fn way(&self, variant: Option<&str>) -> Result<&Prepare, Refusal> {
        let Some(variant) = variant else {
            return Ok(&self.prepare);
        };
        let found = self.variants.iter().find(|&&(name, _)| name == variant);
        match found {
            Some((_, prepare)) => Ok(prepare),
            None => Err(Refusal(format!(
                "`{}` has no variant `{variant}`",
                self.name
            ))),
        }
    }
}

/// Reads parameters for `run`.
fn prepared<P: Parameters>(run: fn(P) -> anyhow::Result<Sample>) -> Box<Prepare> {
    Box::new(move |arguments| {
        let parameters = P::read(arguments)?;
        Ok(Box::new(move || run(parameters)))
    })
}

/// What a workload can be told.
pub(crate) trait Parameters: Sized + 'static {
    /// Takes them from the command line.
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal>;
}

/// What a workload can be told that takes no keys of its own.
#[derive(Clone, Copy)]
pub(crate) struct Basic {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
}

impl Parameters for Basic {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
        })
    }
}

/// Why a command line cannot be understood.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) String);

/// The `key=value` of a command line that nobody has taken yet.
pub(crate) struct Arguments {
    /// The value of `processors`.
    pub(crate) processors: usize,
    /// The value of `seconds`, if given.
    seconds: Option<f64>,
    /// The value of `variant`, if given.
    variant: Option<String>,
    /// All other parameters.
    others: Vec<(String, String)>,
}

impl Arguments {
    /// Splits the words and takes what every workload takes.
    pub(crate) fn parse(words: &[String]) -> Result<Self, Refusal> {
        let split = |word: &String| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(Refusal(format!("`{word}` is not key=value"))),
        };
        let mut arguments = Self {
            processors: 1,
            seconds: None,
            variant: None,
            others: words.iter().map(split).collect::<Result<_, _>>()?,
        };
        let processors = arguments.count("processors", 1)?;
        arguments.processors = usize::try_from(processors)
            .map_err(|_| Refusal(format!("{processors} processors are too many")))?;
        arguments.seconds = arguments.take("seconds", "a length of time", |&seconds: &f64| {
            seconds.is_finite() && seconds >= 0.0
        })?;
        arguments.variant = arguments.take("variant", "a name", |_| true)?;
        Ok(arguments)
    }

    /// How long the measured part should take.
    pub(crate) fn seconds(&self, default: f64) -> f64 {
        self.seconds.unwrap_or(default)
    }

    /// Takes a number of things. There is at least one.
    pub(crate) fn count(&mut self, key: &str, default: u64) -> Result<u64, Refusal> {
        let value = self.take(key, "a number from 1 on", |&count| count > 0)?;
        Ok(value.unwrap_or(default))
    }

    /// Takes a number that may be 0.
    pub(crate) fn number(&mut self, key: &str, default: u64) -> Result<u64, Refusal> {
        Ok(self.take(key, "a number", |_| true)?.unwrap_or(default))
    }

    /// Takes a size in bytes that has no default.
    pub(crate) fn bytes(&mut self, key: &str) -> Result<Option<usize>, Refusal> {
        self.take(key, "a number of bytes", |&bytes| bytes > 0)
    }

    /// Takes the path of a file that has no default.
    pub(crate) fn path(&mut self, key: &str) -> Result<Option<PathBuf>, Refusal> {
        self.take(key, "a path", |path: &PathBuf| !path.as_os_str().is_empty())
    }

    /// Takes the value of a key, if it is given; `what` says what it has to be.
    fn take<T: FromStr>(
        &mut self,
        key: &str,
        what: &str,
        sensible: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, Refusal> {
        let Some(place) = self.others.iter().position(|(name, _)| name == key) else {
            return Ok(None);
        };
        let (_, value) = self.others.remove(place);
        match value.parse().ok().filter(sensible) {
            None => Err(Refusal(format!("{key} is {what}, not `{value}`"))),
            taken => Ok(taken),
        }
    }

    /// Refuses what nobody has taken.
    fn finish(&self) -> Result<(), Refusal> {
        match self.others.first() {
            None => Ok(()),
            Some((key, _)) => Err(Refusal(format!(
                "the key `{key}` is unknown here, or given twice"
            ))),
        }
    }
}

/// Why there is no answer.
enum Failure {
    /// The command line cannot be understood.
    Refused(Refusal),
    /// The repetition failed.
    Failed(anyhow::Error),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(Refusal(why)) => f.write_str(why),
            Self::Failed(error) => write!(f, "{error:#}"),
        }
    }
}

/// A peer with these workloads: does what the command line asks for.
pub fn main(workloads: &[Workload]) -> ExitCode {
    let mut words = env::args();
    let program = words.next().unwrap_or_default();
    let words: Vec<String> = words.collect();
    let answered = answer(workloads, &words).and_then(|text| {
        let written = io::stdout().write_all(text.as_bytes());
        written.map_err(|error| Failure::Failed(error.into()))
    });
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{program}: {failure}");
            match failure {
                Failure::Refused(_) => ExitCode::from(REFUSED),
                Failure::Failed(_) => ExitCode::FAILURE,
            }
        }
    }
}

/// What to print.
fn answer(workloads: &[Workload], words: &[String]) -> Result<String, Failure> {
    let Some((name, words)) = words.split_first() else {
        return Ok(workloads
            .iter()
            .map(|workload| workload.listed() + "\n")
            .collect());
    };
    let workload = workloads.iter().find(|workload| workload.name == name);
    let workload = workload.ok_or_else(|| Refusal(format!("there is no workload `{name}`")))?;
    let mut arguments = Arguments::parse(words)?;
    let prepare = workload.way(arguments.variant.as_deref())?;
    let repetition = prepare(&mut arguments)?;
    arguments.finish()?;
    let sample = panic::catch_unwind(AssertUnwindSafe(repetition))
        .unwrap_or_else(|cause| Err(anyhow!("it panicked: {}", message(&*cause))))?;
    let json = serde_json::to_string(&sample).map_err(anyhow::Error::from)?;
    Ok(json + "\n")
}

/// What a panic says.
fn message(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Parameters of a workload that returns them.
    struct Echo {
        processors: usize,
        seconds: f64,
        fibres: u64,
        held: u64,
    }

    impl Parameters for Echo {
        fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
            Ok(Self {
                processors: arguments.processors,
                seconds: arguments.seconds(0.5),
                fibres: arguments.count("fibres", 2)?,
                held: arguments.number("held", 3)?,
            })
        }
    }

    /// Returns what it is told, or panics if `held` is 13.
    fn echo(told: Echo) -> anyhow::Result<Sample> {
        assert!(told.held != 13, "bad luck");
        anyhow::ensure!(told.held != 14, "no luck");
        Ok(Sample {
            operations: told.fibres,
            cpu_ns: told.seconds,
            wall_ns: told.held as f64,
            values: BTreeMap::from([("processors".into(), told.processors as f64)]),
        })
    }

    /// Returns ten times as many.
    fn loud(told: Echo) -> anyhow::Result<Sample> {
        let fibres = 10 * told.fibres;
        echo(Echo { fibres, ..told })
    }

    /// What a peer with this workload answers to a line.
    fn asked(line: &str) -> Result<String, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let workload = Workload::new("echo", echo).variant("loud", loud);
        answer(&[workload], &words)
    }

    #[test]
    fn without_arguments_it_lists_its_workloads() {
        assert!(asked("").is_ok_and(|text| text == "echo loud\n"));
    }

    #[test]
    fn a_variant_is_run_where_it_is_asked_for() {
        let operations = |line| asked(line).is_ok_and(|text| text.contains(r#""operations":20,"#));
        assert!(operations("echo variant=loud fibres=2"));
        assert!(!operations("echo fibres=2"));
    }

    #[test]
    fn a_sample_is_one_line_of_json() {
        let expected = r#"{"operations":2,"cpu_ns":0.5,"wall_ns":3.0,"values":{"processors":1.0}}"#;
        assert!(asked("echo").is_ok_and(|text| text == format!("{expected}\n")));
        let expected =
            r#"{"operations":9,"cpu_ns":0.25,"wall_ns":0.0,"values":{"processors":4.0}}"#;
        let told = asked("echo held=0 seconds=.25 processors=4 fibres=9");
        assert!(told.is_ok_and(|text| text == format!("{expected}\n")));
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for line in [
            "ohce",
            "echo fibres",
            "echo fibres=",
            "echo fibres=0",
            "echo fibres=two",
            "echo fibres=-1",
            "echo fibres=2 fibres=3",
            "echo processors=0",
            "echo seconds=-1",
            "echo seconds=inf",
            "echo batch=1",
            "echo variant=silent",
            "echo variant=loud variant=loud",
        ] {
            assert!(matches!(asked(line), Err(Failure::Refused(_))), "{line}");
        }
    }

    #[test]
    fn what_fails_is_no_refusal() {
        for (line, why) in [("echo held=13", "bad luck"), ("echo held=14", "no luck")] {
            let failure = asked(line).err();
            assert!(matches!(&failure, Some(Failure::Failed(_))), "{line}");
            let text = failure.map(|failure| failure.to_string());
            assert!(text.is_some_and(|text| text.contains(why)), "{line}");
        }
    }
}
