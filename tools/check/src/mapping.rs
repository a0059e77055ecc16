//! What the mapping header makes of the system's names, read from the header itself, and the names
//! that it leaves alone on purpose, read from the table in the documentation. So neither list is
//! written twice.

use std::collections::BTreeMap;

/// The header. Its `#pragma redefine_extname` lines are the list of all mapped names.
const HEADER: &str = include_str!("../../../fibre-capi/include/fibre_pthread.h");

/// The page with the table of what is not mapped, and why.
const PAGE: &str = include_str!("../../../docs/c/mapping.md");

/// The lines of the page around the table.
const TABLE: (&str, &str) = ("<!-- not mapped -->", "<!-- end -->");

/// Prefixes of names that belong to threads, whatever they are.
const OF_THREADS: [&str; 6] = ["pthread_", "sem_", "thrd_", "mtx_", "cnd_", "tss_"];

/// What the header maps by macros: a pragma would leave the first one const, and the others have
/// fewer arguments than ours.
const BY_MACROS: [(&str, &str); 5] = [
    ("__errno_location", "fibre_errno_location"),
    ("__pthread_register_cancel", "fibre_cleanup_enter"),
    ("__pthread_register_cancel_defer", "fibre_cleanup_enter"),
    ("__pthread_unregister_cancel", "fibre_cleanup_leave"),
    ("__pthread_unregister_cancel_restore", "fibre_cleanup_leave"),
];

/// What a name of the system's library means to a program on fibres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning<'a> {
    /// The header maps it to this function.
    Mapped(&'a str),
    /// It is left to the system, for this reason.
    Left(&'a str),
    /// A name of threads that nobody knows.
    Unknown,
}

/// The names of the system's library that matter.
pub(crate) struct Mapping {
    /// The system's name, and ours.
    mapped: BTreeMap<&'static str, &'static str>,
    /// The system's name, and why it is not mapped.
    left: BTreeMap<&'static str, &'static str>,
}

impl Mapping {
    /// What header and page say.
    pub(crate) fn read() -> Self {
        let mut mapped: BTreeMap<_, _> = HEADER.lines().filter_map(mapped_pair).collect();
        mapped.extend(BY_MACROS);
        Self {
            mapped,
            left: left_names(PAGE),
        }
    }

    /// What this name means, `None` if it has nothing to do with threads.
    pub(crate) fn meaning(&self, name: &str) -> Option<Meaning<'static>> {
        if let Some(&ours) = self.mapped.get(name) {
            return Some(Meaning::Mapped(ours));
        }
        if let Some(&reason) = self.left.get(name) {
            return Some(Meaning::Left(reason));
        }
        OF_THREADS
            .iter()
            .any(|prefix| name.starts_with(prefix))
            .then_some(Meaning::Unknown)
    }

    /// The functions that a library must have for all mapped names, each once.
    pub(crate) fn needed(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.mapped.values().copied().collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The system's name and ours, if the line maps one.
fn mapped_pair(line: &'static str) -> Option<(&'static str, &'static str)> {
    let mut words = line.strip_prefix('#')?.split_whitespace();
    let is_mapping = words.next() == Some("pragma") && words.next() == Some("redefine_extname");
    let (system, ours) = (words.next()?, words.next()?);
    is_mapping.then_some((system, ours))
}

/// The names in the first cells of the table's rows, with the text of the last cells.
fn left_names(page: &'static str) -> BTreeMap<&'static str, &'static str> {
    let table = page.split(TABLE.0).nth(1).unwrap_or_default();
    let table = table.split(TABLE.1).next().unwrap_or_default();
    let mut names = BTreeMap::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (first, reason) = (cells.next().unwrap_or_default(), cells.next_back());
        for name in first.split('`').skip(1).step_by(2) {
            names.insert(name, reason.unwrap_or_default());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_header_are_found() {
        let mapping = Mapping::read();
        let meaning = mapping.meaning("pthread_mutex_lock");
        assert_eq!(meaning, Some(Meaning::Mapped("fibre_mutex_lock")));
        assert_eq!(
            mapping.meaning("pread64"),
            Some(Meaning::Mapped("fibre_pread"))
        );
        assert!(mapping.needed().contains(&"fibre_sem_wait"));
    }

    #[test]
    fn names_of_the_table_have_a_reason() {
        let mapping = Mapping::read();
        let Some(Meaning::Left(reason)) = mapping.meaning("sigsuspend") else {
            panic!("it stands in the table");
        };
        assert!(!reason.is_empty());
    }

    #[test]
    fn other_names_of_threads_are_unknown_and_the_rest_means_nothing() {
        let mapping = Mapping::read();
        assert_eq!(
            mapping.meaning("pthread_frobnicate"),
            Some(Meaning::Unknown)
        );
        assert_eq!(mapping.meaning("strlen"), None);
    }

    /// Calls that may wait for long: each is told of, in a program that was not compiled with the
    /// header.
    #[test]
    fn what_may_block_is_known() {
        let mapping = Mapping::read();
        let names = "read write accept poll flock fsync waitpid wait3 system popen pclose posix_spawn posix_spawnp vfork \
            execv execve execvp lockf lockf64 msgrcv msgsnd semop semtimedop mq_send mq_receive mq_timedsend \
            mq_timedreceive aio_suspend aio_suspend64 lio_listio preadv2 pwritev2 preadv64v2 pwritev64v2 vmsplice tee \
            copy_file_range tcdrain tcsetattr syslog __syslog_chk sync syncfs msync sync_file_range fallocate \
            fallocate64 posix_fallocate posix_fallocate64 gethostbyname2 gethostbyname2_r gethostbyaddr_r \
            getservbyname getservbyport getpwnam getpwuid_r getgrnam getgrgid_r getgrouplist res_query __res_query \
            res_nsearch fopen fopen64 fread __fread_chk fgets getline __isoc99_scanf getc __uflow pause sigsuspend \
            __h_errno_location __errno_location";
        for name in names.split_whitespace() {
            assert!(mapping.meaning(name).is_some(), "`{name}` is not known");
        }
    }

    #[test]
    fn a_name_is_either_mapped_or_left() {
        let mapping = Mapping::read();
        for name in mapping.left.keys() {
            assert!(!mapping.mapped.contains_key(name), "`{name}` is both");
        }
    }
}
