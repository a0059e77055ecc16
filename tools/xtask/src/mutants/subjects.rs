//! The files with mistakes that are worth looking for, and the narrow lane of each: the models and
//! the suites that should see them. Unit tests of the file's crate take part in any case.

#[cfg(test)]
use std::path::{Path, PathBuf};

#[cfg(test)]
use crate::workspace::folder_of;
use crate::workspace::package_in;

/// One file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject {
    /// Its path.
    pub(crate) file: &'static str,
    /// The models that use it: modules of the program `loom` of any crate.
    pub(crate) models: &'static [&'static str],
    /// The suites of the facade that use it: modules `suite_…` of programs in `tests`.
    pub(crate) suites: &'static [&'static str],
}

/// Files of one crate that are seen by the same tests.
const fn subject(
    file: &'static str,
    models: &'static [&'static str],
    suites: &'static [&'static str],
) -> Subject {
    Subject {
        file,
        models,
        suites,
    }
}

/// What uses the wait list.
const LISTS: &[&str] = &[
    "semaphore",
    "mutex",
    "condvar",
    "event",
    "notify",
    "wait_list",
    "rw_lock",
    "barrier",
    "wait_group",
    "raw",
    "scopes",
];
/// What uses gates.
const GATES: &[&str] = &["gate", "gates", "ownership"];
/// What uses queues.
const QUEUES: &[&str] = &["queue", "idle", "at_home", "control"];

/// The files, those with the most delicate protocols first.
pub(crate) const SUBJECTS: &[Subject] = &[
    subject(
        "fibre-core/src/fibre/state.rs",
        &["fibre", "cancel", "at_home"],
        &["cancel", "scheduling"],
    ),
    subject(
        "fibre-core/src/wait/waiter.rs",
        &["fibre", "cancel", "semaphore"],
        &["cancel", "time"],
    ),
    subject(
        "fibre-core/src/fibre/activity_word.rs",
        &["activity"],
        &["activities"],
    ),
    subject("fibre-core/src/wait/completion.rs", &["fibre"], &["spawn"]),
    subject(
        "fibre-core/src/idle/set.rs",
        &["idle", "pollers"],
        &["scheduling"],
    ),
    subject("fibre-core/src/idle/parker.rs", &["idle"], &["scheduling"]),
    subject(
        "fibre-core/src/scheduler/queue_counts.rs",
        &["queue_counts"],
        &["metrics"],
    ),
    subject(
        "fibre-core/src/scheduler/control.rs",
        &["control"],
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/idle/shared_queues.rs",
        &["idle", "control"],
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/idle/watchers.rs",
        &["pollers"],
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/sync/asymmetric.rs",
        &["visits", "cancel"],
        &["cancel"],
    ),
    subject("fibre-core/src/sync/short_lock.rs", &["short_lock"], &[]),
    subject("fibre-core/src/blocking/jobs.rs", &["jobs"], &["spawn"]),
    subject(
        "fibre-core/src/queue/variants/nemesis.rs",
        QUEUES,
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/queue/variants/stub.rs",
        QUEUES,
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/queue/variants/locked.rs",
        QUEUES,
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/queue/entry.rs",
        &["queue", "consumer"],
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/queue/consumer.rs",
        &["consumer", "queue"],
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/queue/basic.rs",
        &["queue", "consumer"],
        &["scheduling"],
    ),
    subject(
        "fibre-core/src/queue/multilevel.rs",
        QUEUES,
        &["scheduling"],
    ),
    subject("fibre-core/src/queue/link.rs", QUEUES, &["scheduling"]),
    subject("fibre-core/src/queue/fifo.rs", QUEUES, &["scheduling"]),
    subject("fibre-sync/src/wait_list.rs", LISTS, &["sync"]),
    subject(
        "fibre-sync/src/lock/word.rs",
        &["mutex", "condvar", "raw"],
        &["sync"],
    ),
    subject(
        "fibre-sync/src/lock/queued.rs",
        &["mutex", "condvar", "raw"],
        &["sync"],
    ),
    subject("fibre-sync/src/lock/attempt.rs", &["mutex"], &["sync"]),
    subject("fibre-sync/src/lock/spinning.rs", &["mutex"], &["sync"]),
    subject("fibre-sync/src/semaphore.rs", &["semaphore"], &["sync"]),
    subject("fibre-sync/src/once_word.rs", &["once"], &["sync"]),
    subject("fibre-sync/src/once.rs", &["once"], &["sync"]),
    subject("fibre-sync/src/rw_word.rs", &["rw_lock"], &["sync"]),
    subject(
        "fibre-sync/src/raw_rw_lock.rs",
        &["rw_lock", "raw"],
        &["sync"],
    ),
    subject("fibre-sync/src/event.rs", &["event"], &["sync"]),
    subject("fibre-sync/src/notify.rs", &["notify"], &["sync"]),
    subject("fibre-sync/src/barrier.rs", &["barrier"], &["sync"]),
    subject("fibre-sync/src/wait_group.rs", &["wait_group"], &["sync"]),
    subject("fibre-sync/src/condvar.rs", &["condvar"], &["sync"]),
    subject("fibre-sync/src/members.rs", &["members"], &["limits"]),
    subject(
        "fibre-sync/src/channel/state.rs",
        &["channel", "select"],
        &["sync"],
    ),
    subject(
        "fibre-sync/src/channel/shared.rs",
        &["channel", "select"],
        &["sync"],
    ),
    subject("fibre-sync/src/channel/buffer.rs", &["channel"], &["sync"]),
    subject(
        "fibre-sync/src/selection/choose.rs",
        &["select"],
        &["select", "sync"],
    ),
    subject(
        "fibre-sync/src/selection/list_arm.rs",
        &["select"],
        &["select"],
    ),
    subject(
        "fibre-sync/src/channel/select/arm.rs",
        &["select"],
        &["select", "sync"],
    ),
    subject("fibre-sync/src/raw/semaphore.rs", &["raw"], &["sync"]),
    subject("fibre-sync/src/raw/mutex.rs", &["raw"], &["sync"]),
    subject("fibre-sync/src/raw/once.rs", &["raw"], &["sync"]),
    subject("fibre-sync/src/raw/condvar.rs", &["raw"], &["sync"]),
    subject("fibre-sync/src/raw/rwlock.rs", &["raw"], &["sync"]),
    subject("fibre-sync/src/raw/barrier.rs", &["raw"], &["sync"]),
    subject("fibre-sync/src/raw/spin.rs", &["raw"], &["sync"]),
    subject("fibre-io/src/gate/word.rs", GATES, &["io"]),
    subject("exts/actors/src/inbox.rs", &["inbox"], &[]),
    subject("exts/events/src/scheduler.rs", &["scheduler"], &[]),
    subject("exts/tasks/src/line.rs", &["lines"], &[]),
    subject("exts/tasks/src/entry.rs", &["lines"], &[]),
    subject("fibre-io/src/gate/single.rs", GATES, &["io", "cancel"]),
    subject(
        "fibre-io/src/gate/several.rs",
        &["gates", "ownership"],
        &["io"],
    ),
    subject(
        "fibre-io/src/descriptor/owner.rs",
        &["ownership", "users"],
        &["io"],
    ),
    subject("fibre-io/src/descriptor/use_count.rs", &["users"], &["io"]),
    subject("fibre-io/src/sequence_cursor.rs", &["seen"], &["io"]),
    subject(
        "fibre-io/src/poll_words/poll_lock.rs",
        &["pollers"],
        &["io"],
    ),
    subject(
        "fibre-io/src/poll_words/poll_turn.rs",
        &["pollers"],
        &["io"],
    ),
    subject(
        "fibre-io/src/poll_words/poll_request.rs",
        &["pollers"],
        &["io"],
    ),
    subject("fibre-core/src/wait/timer.rs", &[], &["time"]),
    subject("fibre-core/src/stack/pool.rs", &[], &[]),
    subject("fibre-core/src/stack/guard.rs", &[], &[]),
    subject("fibre-io/src/backoff.rs", &[], &["io"]),
    subject("fibre-io/src/descriptor/table.rs", &[], &["io"]),
    subject("fibre-io/src/funnel.rs", &["gate"], &["io", "cancel"]),
    subject("fibre-io/src/source.rs", &[], &["io", "cancel"]),
    subject("fibre-io/src/timeout.rs", &["gate"], &["io"]),
    subject("fibre-io/src/poller/variants/fibre.rs", &[], &["io"]),
    subject("fibre-io/src/poller/variants/shared.rs", &[], &["io"]),
    subject("fibre-io/src/poller/variants/thread.rs", &[], &["io"]),
    subject("fibre-io/src/poller/variants/master.rs", &[], &["io"]),
    subject("fibre-io/src/poller/instance.rs", &[], &["io"]),
    subject("fibre-io/src/poller/processors.rs", &[], &["io"]),
];

impl Subject {
    /// The package that it belongs to.
    pub(crate) fn package(&self) -> String {
        let folder = self.file.split_once("/src/").map(|(folder, _)| folder);
        package_in(folder.unwrap_or(self.file))
    }

    /// Whether the test program of this name is of its lane.
    pub(crate) fn is_tested_by(&self, program: &str) -> bool {
        match program.strip_prefix(MODELS) {
            Some(model) => self.models.contains(&model),
            None => {
                let unit = program.replace('_', "-") == self.package();
                unit || self.suites.contains(&program)
            }
        }
    }

    /// What a mutant in it asks: in the crate that has the question, and in those above it.
    pub(crate) fn hook(&self) -> &'static str {
        match self.package().as_str() {
            "fibre-core" => "crate::sync::mutant",
            _ => "fibre_core::sync::mutant",
        }
    }
}

/// What the name of a module of models begins with: that of its program.
pub(crate) const MODELS: &str = "loom::";

/// The crates that have models.
pub(crate) const MODELLED: [&str; 6] = [
    "fibre-core",
    "fibre-sync",
    "fibre-io",
    "fibre-actors",
    "fibre-events",
    "fibre-tasks",
];

/// Where the model of this name is.
#[cfg(test)]
pub(crate) fn model(root: &Path, name: &str) -> Option<PathBuf> {
    let path = |package: &&str| folder_of(root, package).join(format!("tests/loom/{name}.rs"));
    MODELLED.iter().map(path).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::test::program_with;
    use crate::mutants::find::find;
    use crate::mutants::listed::Listed;
    use crate::mutants::mutant::weave;
    use crate::workspace::Workspace;
    use std::collections::BTreeSet;

    #[test]
    fn all_files_models_and_suites_are_there() {
        let workspace = Workspace::find().unwrap();
        let root = workspace.root();
        for subject in SUBJECTS {
            assert!(root.join(subject.file).is_file(), "{}", subject.file);
            for name in subject.models {
                assert!(model(root, name).is_some(), "{}: {name}", subject.file);
            }
            for name in subject.suites {
                assert!(
                    program_with(root, name).is_some(),
                    "{}: {name}",
                    subject.file
                );
            }
        }
        assert_eq!(model(root, "nothing"), None);
    }

    #[test]
    fn each_file_is_there_once_and_has_mutants() {
        let workspace = Workspace::find().unwrap();
        let mut files: Vec<_> = SUBJECTS.iter().map(|subject| subject.file).collect();
        files.sort_unstable();
        assert!(files.windows(2).all(|pair| pair[0] != pair[1]));
        for file in files {
            let text = std::fs::read_to_string(workspace.root().join(file)).unwrap();
            let mutants = find(&text, &Listed::default()).unwrap();
            assert!(!mutants.is_empty(), "{file}");
            let woven = weave(&text, &mutants, &BTreeSet::new(), ("mutant", 1));
            assert!(
                syn::parse_file(&woven.text).is_ok(),
                "{file}, with all its mutants"
            );
        }
    }
}
