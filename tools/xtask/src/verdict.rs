//! What programs have said of their tests, whether they have passed, and the command that runs
//! those again that failed.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write, stdout};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::commands::{cannot_start, judge, print_command, surround, under_budget};

/// How many tests may fail for them to be run again. More are no accident.
const FEW: usize = 3;

/// What the programs have said.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// How many tests passed.
    pub(crate) passed: u64,
    /// In how many programs one did.
    pub(crate) programs: usize,
    /// The tests that failed.
    failed: Vec<String>,
    /// Programs that began, and those that came to their end.
    began: usize,
    ended: usize,
    /// What may be such names.
    listed: Option<Vec<String>>,
}

impl Verdict {
    /// Reads the output, and copies it line by line to ours.
    pub(crate) fn read(mut output: impl BufRead) -> io::Result<Self> {
        let mut verdict = Self::default();
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line);
            print!("{text}");
            stdout().flush()?;
            verdict.take_in(text.trim_end_matches('\n'));
            line.clear();
        }
        Ok(verdict)
    }

    /// Takes in one line.
    fn take_in(&mut self, line: &str) {
        if is_beginning(line) {
            self.began += 1;
        } else if line == "failures:" {
            // The second of two such lines is what counts: below the first one is what tests print.
            self.listed = Some(Vec::new());
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.ended += 1;
            self.passed += passed(rest);
            self.programs += usize::from(passed(rest) > 0);
            self.failed.extend(self.listed.take().unwrap_or_default());
        } else if let Some(name) = line.strip_prefix("    ")
            && let Some(listed) = &mut self.listed
        {
            listed.push(name.to_owned());
        }
    }

    /// The names of the tests to run again: few, and no program has ended before its time.
    pub(crate) fn failed_by_name(&self) -> Option<&[String]> {
        let is_whole = self.began == self.ended;
        let are_few = (1..=FEW).contains(&self.failed.len());
        (is_whole && are_few).then_some(&self.failed)
    }
}

/// Whether the line is `running 12 tests`.
fn is_beginning(line: &str) -> bool {
    let count = line
        .strip_prefix("running ")
        .and_then(|rest| rest.split_once(" test"));
    count.is_some_and(|(count, _)| count.parse::<u64>().is_ok())
}

/// The number in `ok. 12 passed; …` and in `FAILED. 12 passed; …`.
fn passed(result: &str) -> u64 {
    result
        .split_once(". ")
        .and_then(|(_, rest)| rest.split_once(" passed;"))
        .and_then(|(count, _)| count.parse().ok())
        .unwrap_or(0)
}

/// Runs a command of tests and reads what it prints.
pub(crate) fn run_and_read(
    command: &Command,
    budget: Option<Duration>,
) -> Result<(Verdict, ExitStatus)> {
    print_command(command);
    let mut command = under_budget(command, budget);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| cannot_start(&command))?;
    let output = child.stdout.take().context("the child has no output")?;
    let verdict = Verdict::read(BufReader::new(output))?;
    Ok((verdict, child.wait()?))
}

/// Decides whether a command of tests has passed. Returns the tests that did so only when they ran
/// once more.
pub(crate) fn decide(
    command: &Command,
    verdict: &Verdict,
    status: ExitStatus,
    second_chance: bool,
    left: Option<Duration>,
) -> Result<Vec<String>> {
    let failure = match judge(status) {
        Ok(()) => return Ok(Vec::new()),
        Err(failure) => failure,
    };
    let names = second_chance.then(|| verdict.failed_by_name()).flatten();
    let Some(names) = names else {
        return Err(failure);
    };
    println!("\nonce more, what failed: {}", names.join(", "));
    let (again, status) = run_and_read(&just(command, names), left)?;
    judge(status).context("it failed twice")?;
    if again.passed < names.len() as u64 {
        bail!("of what failed not all was found again");
    }
    Ok(names.to_vec())
}

/// Whether the command is cargo's; else it is a program of tests.
fn is_cargos(arguments: &[&OsStr]) -> bool {
    arguments.first().is_some_and(|first| *first == "test")
}

/// The command that goes on to the other programs when one has failed.
pub(crate) fn to_the_end(command: &Command) -> Command {
    rebuilt(command, |arguments| {
        if !is_cargos(arguments) {
            return arguments.to_vec();
        }
        let mut whole = vec![OsStr::new("test"), OsStr::new("--no-fail-fast")];
        whole.extend(arguments.iter().skip(1));
        whole
    })
}

/// The command that runs just these tests.
fn just(command: &Command, names: &[String]) -> Command {
    let mut command = rebuilt(command, |arguments| {
        let is_option = |word: &&&OsStr| word.as_encoded_bytes().starts_with(b"--");
        // Options for the tests' programs stay; filters do not.
        if !is_cargos(arguments) {
            return arguments.iter().filter(is_option).copied().collect();
        }
        let is_ours = |argument: &&&OsStr| **argument != "--";
        let mut kept: Vec<&OsStr> = arguments.iter().take_while(is_ours).copied().collect();
        kept.push(OsStr::new("--"));
        let theirs = arguments.iter().skip_while(is_ours).skip(1);
        kept.extend(theirs.filter(is_option));
        kept
    });
    if !command.get_args().any(|argument| argument == "--exact") {
        command.arg("--exact");
    }
    command.args(names);
    command
}

/// The command with other arguments.
fn rebuilt<'a>(
    command: &'a Command,
    arguments: impl FnOnce(&[&'a OsStr]) -> Vec<&'a OsStr>,
) -> Command {
    let before: Vec<&OsStr> = command.get_args().collect();
    let mut after = Command::new(command.get_program());
    after.args(arguments(&before));
    surround(&mut after, command);
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_fail_once_are_named_and_such_that_fail_twice_fail() {
        let folder = std::env::temp_dir().join(format!("fibre-xtask-{}", std::process::id()));
        let fails_until_called_again = |times: u32| {
            // A program that takes cargo's arguments, and fails so many times.
            let script = format!(
                "n=$(ls calls | wc -l); touch \"calls/$n\"; echo running 1 test; \
                 if [ $n -lt {times} ]; then echo failures:; echo '    a::b'; echo; \
                 echo test result: FAILED. 0 passed; exit 101; fi; echo 'test result: ok. 1 passed;'"
            );
            std::fs::create_dir_all(folder.join("calls")).unwrap();
            std::fs::write(folder.join("test"), script).unwrap();
            let mut command = Command::new("sh");
            command.arg("test").current_dir(&folder);
            command
        };
        // The shell is given a script that is called as what cargo is told to do.
        let run = |times, second_chance| {
            let command = fails_until_called_again(times);
            let (verdict, ended) = run_and_read(&command, None).unwrap();
            let names = decide_with(&command, &verdict, ended, second_chance);
            std::fs::remove_dir_all(&folder).unwrap();
            names
        };
        assert_eq!(run(0, true).unwrap(), Vec::<String>::new());
        assert_eq!(run(1, true).unwrap(), ["a::b"]);
        assert!(run(1, false).is_err());
        let twice = run(2, true).unwrap_err();
        assert!(format!("{twice:#}").contains("twice"), "{twice:#}");
    }

    /// As [`decide`], without a budget.
    fn decide_with(
        command: &Command,
        verdict: &Verdict,
        status: ExitStatus,
        second_chance: bool,
    ) -> Result<Vec<String>> {
        decide(command, verdict, status, second_chance, None)
    }

    /// A program that runs without cargo has no words before its own.
    #[test]
    fn a_program_is_run_again_by_its_own_options() {
        let mut command = Command::new("/program");
        command
            .args(["filter", "--test-threads=1"])
            .current_dir("/");
        let again = just(&command, &["a::b".to_owned()]);
        let words: Vec<&OsStr> = again.get_args().collect();
        assert_eq!(words, ["--test-threads=1", "--exact", "a::b"]);
        assert_eq!(again.get_current_dir(), command.get_current_dir());
        let whole = to_the_end(&command);
        assert!(whole.get_args().eq(command.get_args()));
    }

    const ONE_OF_TWO: &str = "\
running 2 tests
test a::good ... ok
test a::bad ... FAILED

failures:

---- a::bad stdout ----
    not a name
failures:

failures:
    a::bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured
running 40 tests
test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured
";

    #[test]
    fn tests_are_added_up_over_all_programs_and_failures_named() {
        let verdict = Verdict::read(ONE_OF_TWO.as_bytes()).unwrap();
        assert_eq!((verdict.passed, verdict.programs), (41, 2));
        assert_eq!(verdict.failed_by_name().unwrap(), ["a::bad"]);
    }

    #[test]
    fn what_broke_off_or_failed_wholly_is_not_run_again() {
        let passes = "running 2 tests\ntest result: ok. 2 passed; 0 failed\n";
        let breaks_off = format!("{ONE_OF_TWO}running 3 tests\ntest c ... ok\n");
        let lists = |count: usize| {
            let names: String = (0..count).map(|n| format!("    t{n}\n")).collect();
            format!(
                "running 9 tests\nfailures:\n{names}\ntest result: FAILED. 0 passed; 9 failed\n"
            )
        };
        let named = |text: &str| {
            let verdict = Verdict::read(text.as_bytes()).unwrap();
            verdict.failed_by_name().map(<[String]>::len)
        };
        assert_eq!(named(passes), None);
        assert_eq!(named(&breaks_off), None);
        assert_eq!(named(&lists(FEW)), Some(FEW));
        assert_eq!(named(&lists(FEW + 1)), None);
    }

    #[test]
    fn commands_are_changed_where_they_have_to_be() {
        let mut command = Command::new("cargo");
        command.env("A", "b");
        command.args(["test", "--release", "--", "--test-threads=1", "suite_io::"]);
        let words = |command: &Command| {
            let words = command.get_args().map(|word| word.to_str().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            words(&to_the_end(&command)),
            "test --no-fail-fast --release -- --test-threads=1 suite_io::"
        );
        let names = ["suite_io::a".to_owned(), "b - c (line 3)".to_owned()];
        let again = just(&command, &names);
        assert_eq!(
            words(&again),
            "test --release -- --test-threads=1 --exact suite_io::a b - c (line 3)"
        );
        assert!(again.get_envs().any(|(name, _)| name == "A"));
    }
}
