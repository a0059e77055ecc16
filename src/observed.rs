//! What begins with the first cluster, for whoever looks at the program: dumps, metrics, watches.

/// Notes functions that the first cluster calls. May be called before `main`.
pub(crate) fn begin() {
    fibre_inspect::begin_with_first_cluster();
}
