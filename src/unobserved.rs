//! What stands for [`observed`](crate::observed) in a program without the feature `inspect`: a word
//! for who asks for what is not there.

use fibre_core::internal::{on_first_cluster, variable, warn};

/// What only the crate `fibre-inspect` reads, and would act on.
const READ_BY_INSPECT: [&str; 6] = [
    "FIBRE_DEADLOCK",
    "FIBRE_METRICS",
    "FIBRE_MONITOR",
    "FIBRE_SCHEDTRACE",
    "FIBRE_STATS",
    "FIBRE_TRACE",
];

/// Notes a function that the first cluster calls: it names what the environment asks for, and what
/// is not there. May be called before `main`.
pub(crate) fn begin() {
    on_first_cluster(|| {
        for name in READ_BY_INSPECT {
            if variable::<String>(name).is_some() {
                warn(format_args!(
                    "{name} changes nothing: this program is built without the feature `inspect`"
                ));
            }
        }
    });
}
