//! What is said of the switches of a run: the fibre, its step, and the place in the program.

use super::switches::{Switch, Switches};
use fibre_core::SwitchReason;
use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most switches that are listed.
const MOST_LISTED: usize = 40;

/// What begins the names of functions that are not the program's own.
const NOT_OWN: [&str; 4] = ["std::", "core::", "alloc::", "fibre"];

/// What the paths of files have that are not the program's own: names of inlined functions have no
/// crate.
const NOT_OWN_FILES: [&str; 6] = [
    "/rustc/",
    "fibre-core",
    "fibre-sync",
    "fibre-io",
    "fibre-test-",
    "exts/test/src/",
];

/// The fibres of a run, by the order of their appearance, and the places of its switches.
#[derive(Debug, Default)]
pub(crate) struct Account {
    fibres: BTreeMap<usize, Known>,
}

/// What is known of a fibre.
#[derive(Debug, Default)]
struct Known {
    id: Option<u64>,
    name: Option<String>,
    /// The host that it is of.
    host: Option<String>,
    /// How often it has left its stack.
    steps: u64,
    /// Its stack where it gives way, to be shown.
    stack: Option<Backtrace>,
    /// The places where it has left its stack, by steps.
    places: BTreeMap<u64, Place>,
}

/// Where a fibre has left its stack.
#[derive(Debug)]
enum Place {
    Stack(Backtrace),
    /// For this.
    Waits(String),
    Ends,
}

impl Account {
    /// The fibre runs, and has this name.
    pub(crate) fn runs(&mut self, fibre: usize, name: Option<String>) {
        self.fibres.entry(fibre).or_default().name = name;
    }

    /// The fibre gives way, with this stack.
    pub(crate) fn gives_way(&mut self, fibre: usize, stack: Backtrace) {
        self.fibres.entry(fibre).or_default().stack = Some(stack);
    }

    /// The fibre with this number, which is of this host, has left its stack, to wait for that.
    pub(crate) fn left(
        &mut self,
        fibre: usize,
        (id, host): (u64, Option<String>),
        reason: SwitchReason,
        awaited: Option<String>,
    ) {
        let known = self.fibres.entry(fibre).or_default();
        known.id = Some(id);
        // One that ends is of none any more.
        known.host = host.or(known.host.take());
        known.steps += 1;
        let place = match (known.stack.take(), awaited) {
            (Some(stack), _) => Place::Stack(stack),
            (None, Some(awaited)) => Place::Waits(awaited),
            (None, None) if reason == SwitchReason::Ends => Place::Ends,
            (None, None) => return,
        };
        known.places.insert(known.steps, place);
    }

    /// A line for each of the switches.
    pub(crate) fn list(&self, switches: &Switches) -> String {
        let mut list = String::new();
        for switch in switches.0.iter().take(MOST_LISTED) {
            self.describe(*switch, &mut list);
        }
        if let Some(more @ 1..) = switches.0.len().checked_sub(MOST_LISTED) {
            // Writing to a string does not fail.
            let _ = write!(list, "\n  and {more} more");
        }
        list
    }

    /// Adds the line for one.
    fn describe(&self, Switch { from, step, to }: Switch, list: &mut String) {
        let place = self
            .fibres
            .get(&from)
            .and_then(|known| known.places.get(&step));
        let does = match place {
            Some(Place::Waits(awaited)) => format!("waits for {awaited}"),
            Some(Place::Ends) => "ends".to_owned(),
            Some(Place::Stack(stack)) => match own_frame(&stack.to_string()) {
                Some(frame) => format!("gives way in {frame}"),
                None => "gives way".to_owned(),
            },
            None => "gives way".to_owned(),
        };
        let (from, to) = (self.noun(from), self.noun(to));
        let _ = write!(list, "\n  {from} {does} (step {step}), and {to} runs");
    }

    /// A fibre in words.
    fn noun(&self, fibre: usize) -> String {
        let known = self.fibres.get(&fibre);
        let name = known.and_then(|known| known.name.as_ref());
        let name = name.map_or(String::new(), |name| format!(" ({name:?})"));
        let host = known.and_then(|known| known.host.as_ref());
        let host = host.map_or(String::new(), |host| format!(" of host {host}"));
        match known.and_then(|known| known.id) {
            Some(id) => format!("fibre {id}{name}{host}"),
            None => format!("the run's fibre {fibre}{name}{host}"),
        }
    }
}

/// The innermost frame of the program in a stack as std prints it: the function, and its line.
fn own_frame(stack: &str) -> Option<String> {
    let mut lines = stack.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((number, function)) = line.split_once(": ") else {
            continue;
        };
        let place = lines.peek().and_then(|next| next.strip_prefix("at "));
        if number.parse::<usize>().is_err() || !is_own(function, place.unwrap_or("")) {
            continue;
        }
        // The column says little.
        let place = place.map(|place| place.rsplit_once(':').map_or(place, |(line, _)| line));
        return Some(match place {
            Some(place) => format!("{function}, {place}"),
            None => function.to_owned(),
        });
    }
    None
}

/// Whether a function in this file is the program's own.
fn is_own(function: &str, file: &str) -> bool {
    let function = function.trim_start_matches('<');
    !NOT_OWN.iter().any(|prefix| function.starts_with(prefix))
        && !NOT_OWN_FILES.iter().any(|part| file.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_frame_of_the_program_is_found() {
        let stack = "   0: fibre_test::account::x\n             at /a/b.rs:1:2\n   1: <fibre_sync::\
                     Mutex<T> as Lock>::lock\n   2: gives_way\n             at /x/fibre-core/src/y.rs:1:1\n   3: bank::transfer\n             at ./src/bank.rs:\
                     12:5\n   4: main";
        let frame = own_frame(stack);
        assert_eq!(frame.as_deref(), Some("bank::transfer, ./src/bank.rs:12"));
        assert_eq!(own_frame("   0: std::x\n   1: y").as_deref(), Some("y"));
        assert_eq!(own_frame("disabled"), None);
    }

    #[test]
    fn a_switch_is_told_with_what_is_known() {
        let mut account = Account::default();
        account.runs(0, Some("bank".to_owned()));
        let host = Some("app".to_owned());
        account.left(0, (17, host), SwitchReason::Yields, None);
        account.left(0, (17, None), SwitchReason::Ends, None);
        let switches = Switches::parse("0.2-2").unwrap();
        let list = account.list(&switches);
        assert_eq!(
            list,
            "\n  fibre 17 (\"bank\") of host app ends (step 2), and the run's fibre 2 runs"
        );
        let socket = "the listener 0.0.0.0:80 of bank".to_owned();
        account.left(2, (18, None), SwitchReason::Waits, Some(socket));
        let list = account.list(&Switches::parse("2.1-0").unwrap());
        assert_eq!(
            list,
            "\n  fibre 18 waits for the listener 0.0.0.0:80 of bank (step 1), and fibre 17 \
             (\"bank\") of host app runs"
        );
        let many = Switches(vec![switches.0[0]; MOST_LISTED + 2]);
        assert!(account.list(&many).ends_with("\n  and 2 more"));
    }
}
