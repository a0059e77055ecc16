//! The guide to fibre, which is Markdown below `src/`: mdBook makes a book of it (`book.toml`), and
//! this crate makes tests of the programs in its pages. `cargo xtask guide` does both, and runs the
//! programs in C.

/// The programs of a page, as tests.
macro_rules! pages {
    ($($page:ident = $path:literal;)*) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("src/", $path, ".md"))]
            mod $page {}
        )*

        /// The pages with programs that are tests, as paths below `src/` without their ending.
        #[cfg(test)]
        const PAGES: &[&str] = &[$($path),*];
    };
}

pages! {
    introduction = "introduction";
    first_program = "first-program";
    rules = "rules";
    waiting = "waiting";
    limits = "limits";
    supervisors = "supervisors";
    scoped = "scoped";
    io = "io";
    service = "service";
    crates = "crates";
    clients = "clients";
    async_code = "async";
    shutdown = "shutdown";
    testing = "testing";
    from_tokio = "from-tokio";
    from_threads = "from-threads";
    from_pthreads = "from-pthreads";
    production = "production";
    sizing = "sizing";
    tuning = "tuning";
    machines = "machines";
    inside = "inside";
    actors = "actors";
    events = "events";
    tasks = "tasks";
    proxy = "cookbook/proxy";
    crawler = "cookbook/crawler";
    pipeline = "cookbook/pipeline";
    udp = "cookbook/udp";
    hedged = "cookbook/hedged";
    pthread = "cookbook/pthread";
}

#[cfg(test)]
#[path = "beside/mod.rs"]
mod beside;

#[cfg(test)]
mod tests {
    use super::PAGES;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_page_of_the_summary_is_tested() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
        let links = summary
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(".md)"));
        let pages: Vec<&str> = links.map(|(path, _)| path).collect();
        // What lies elsewhere is reference, without programs of its own.
        let own: Vec<&str> = pages
            .into_iter()
            .filter(|path| !path.starts_with(".."))
            .collect();
        assert_eq!(own, PAGES);
    }
}
