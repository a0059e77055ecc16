//! What a layer above watches for while the program runs, as the environment has it.

use crate::config::settings::variable;
use std::str::FromStr;
use std::time::Duration;

/// The shortest period of a monitor.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest one.
const MAX_PERIOD: Duration = Duration::from_secs(3600);

/// What becomes of what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MonitorAction {
    /// It is reported.
    Report,
    /// It is reported, all fibres are dumped, and the process aborts.
    Abort,
}

/// `FIBRE_MONITOR`: how long a fibre may keep a processor without being reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorSetting(pub Option<(Duration, MonitorAction)>);

impl MonitorSetting {
    /// The possible values in words.
    pub(crate) const WORDS: &str =
        "off, or a time from 1ms to 1h as in 10ms or 2s, alone or before ,warn or ,abort";

    /// The setting of the environment; by default nothing is watched.
    #[must_use]
    pub fn from_environment() -> Self {
        variable("FIBRE_MONITOR").unwrap_or(Self(None))
    }

    /// Whether the environment says anything about it.
    #[must_use]
    pub fn is_chosen() -> bool {
        variable::<Self>("FIBRE_MONITOR").is_some()
    }
}

impl FromStr for MonitorSetting {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "off" {
            return Ok(Self(None));
        }
        let mut parts = text.split(',');
        let period = parts.next().and_then(time).ok_or(())?;
        let mut reaction = MonitorAction::Report;
        for part in parts {
            match part {
                "warn" => {}
                "abort" => reaction = MonitorAction::Abort,
                _ => return Err(()),
            }
        }
        let in_range = (SHORTEST..=MAX_PERIOD).contains(&period);
        in_range.then_some(Self(Some((period, reaction)))).ok_or(())
    }
}

/// A time with its unit. Five units are no reason for a crate in every program.
fn time(text: &str) -> Option<Duration> {
    let letters = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(letters);
    let number: u32 = number.parse().ok()?;
    let unit = match unit {
        "us" => Duration::from_micros(1),
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_secs(60),
        "h" => Duration::from_secs(3600),
        _ => return None,
    };
    unit.checked_mul(number)
}

/// Whether a fault of a kind is looked for, and what follows a report of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportSetting(pub Option<MonitorAction>);

impl ReportSetting {
    /// The values, in words.
    pub(crate) const WORDS: &str = "report, abort or off";

    /// `FIBRE_DEADLOCK`: by default no deadlock is looked for.
    #[must_use]
    pub fn of_deadlocks() -> Self {
        variable("FIBRE_DEADLOCK").unwrap_or(Self(None))
    }
}

impl FromStr for ReportSetting {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "report" => Ok(Self(Some(MonitorAction::Report))),
            "abort" => Ok(Self(Some(MonitorAction::Abort))),
            "off" => Ok(Self(None)),
            _ => Err(()),
        }
    }
}

/// `FIBRE_MIXUPS`: whether thread-locals are looked for that fibres mix up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MixupSetting {
    /// What follows a report; `None`: nobody looks.
    pub(crate) action: Option<MonitorAction>,
    /// The beginnings of the names of variables that may change.
    pub(crate) may_change: Vec<String>,
}

impl MixupSetting {
    /// The values, in words.
    pub(crate) const WORDS: &str =
        "report, abort or off; the first two perhaps with names of variables after commas";

    /// The setting of the environment. By default builds with debug assertions report; others never
    /// look.
    pub(crate) fn from_environment() -> Self {
        let set = variable("FIBRE_MIXUPS").filter(|_| cfg!(debug_assertions));
        set.unwrap_or_else(|| Self {
            action: cfg!(debug_assertions).then_some(MonitorAction::Report),
            may_change: Vec::new(),
        })
    }
}

impl FromStr for MixupSetting {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split(',');
        let ReportSetting(action) = words.next().unwrap_or_default().parse()?;
        let may_change: Vec<_> = words.map(str::to_owned).collect();
        let is_wrong = may_change.iter().any(String::is_empty);
        if is_wrong || (action.is_none() && !may_change.is_empty()) {
            return Err(());
        }
        Ok(Self { action, may_change })
    }
}

/// Whether a layer above watches for anything while the program runs.
pub(crate) fn is_asked_for() -> bool {
    MonitorSetting::from_environment().0.is_some() || ReportSetting::of_deadlocks().0.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_units_and_bounds() {
        let told = |text: &str| text.parse::<MonitorSetting>().map(|setting| setting.0);
        let is = |period, reaction| Ok(Some((period, reaction)));
        assert_eq!(told("off"), Ok(None));
        assert_eq!(
            told("10ms"),
            is(Duration::from_millis(10), MonitorAction::Report)
        );
        assert_eq!(
            told("2s,warn"),
            is(Duration::from_secs(2), MonitorAction::Report)
        );
        assert_eq!(
            told("1h,warn,abort"),
            is(Duration::from_secs(3600), MonitorAction::Abort)
        );
        for wrong in [
            "",
            "10",
            "ms",
            "0ms",
            "999us",
            "2h",
            "-1s",
            "1s,",
            "1s,warm",
            "off,abort",
            "1.5s",
            "99999999999s",
            "4294967295h",
        ] {
            assert_eq!(told(wrong), Err(()), "{wrong}");
        }
    }

    #[test]
    fn variables_that_may_change_have_names() {
        let told = |text: &str| {
            let told = text.parse::<MixupSetting>();
            told.map(|setting| (setting.action, setting.may_change.join(" ")))
        };
        let is = |action, names: &str| Ok((action, names.to_owned()));
        assert_eq!(told("report"), is(Some(MonitorAction::Report), ""));
        assert_eq!(told("off"), is(None, ""));
        assert_eq!(
            told("abort,mine::COUNT,other::"),
            is(Some(MonitorAction::Abort), "mine::COUNT other::")
        );
        for wrong in ["", "on", "report,", "abort,a,,b", "off,a", ",a"] {
            assert_eq!(told(wrong), Err(()), "{wrong}");
        }
    }

    #[test]
    fn faults_are_reported_or_not() {
        let told = |text: &str| text.parse::<ReportSetting>().map(|setting| setting.0);
        assert_eq!(told("report"), Ok(Some(MonitorAction::Report)));
        assert_eq!(told("abort"), Ok(Some(MonitorAction::Abort)));
        assert_eq!(told("off"), Ok(None));
        assert_eq!(told("on"), Err(()));
    }
}
