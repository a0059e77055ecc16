//! What the pictures are called.

/// The titles by the names of the files.
const TITLES: &[(&str, &str)] = &[
    (
        "webserver",
        "Web server, kept connections: CPU time of a request",
    ),
    ("echo", "Echo server: CPU time of a request"),
    (
        "short",
        "Web server, a connection for each request: CPU time of a request",
    ),
    (
        "pipelined",
        "Web server, pipelined requests: CPU time of a request",
    ),
    (
        "pollers",
        "Web server with each poller: CPU time of a request",
    ),
    (
        "sws",
        "Web servers by events and by fibres: CPU time of a request",
    ),
    ("yield", "Giving way to another fibre"),
    ("spawn", "Starting a fibre and joining it"),
    ("pingpong", "Two fibres that wake each other in turns"),
    ("lock", "Taking and releasing a lock"),
    (
        "contention",
        "Many fibres that compete for locks (T: fibres, L: locks)",
    ),
    ("blocked", "Many fibres that are blocked at once"),
    ("sleep", "Sleeping: how late a fibre wakes up"),
    ("pipes", "Fibres that talk through pipes"),
    ("pthreads", "POSIX threads: by fibres, and by the system"),
    (
        "utilisation",
        "Cores that a program with locks uses, by models and measured",
    ),
    ("big", "Actors: each sends to each of the others"),
    ("bang", "Actors: many send to one"),
    ("logm", "Actors: the logistic map"),
    ("pubsub", "Actors: publishers and subscribers"),
    ("ask", "Actors: a question and its answer"),
    ("rest", "Actors: a second of doing nothing"),
    ("chat", "Actors: a chat with a message a second"),
    ("million", "Actors: a chat of a million users"),
    (
        "ask-latency",
        "Actors: how long a question and its answer take",
    ),
    (
        "pubsub-latency",
        "Actors: how long publications are on their way",
    ),
    ("chat-latency", "Chat: how long messages are on their way"),
    (
        "million-latency",
        "Chat of a million users: how long messages are on their way",
    ),
    ("figure-4.1", "Figure 4.1: ready queues under migration"),
    (
        "figure-4.2",
        "Figure 4.2: web server with and without a yield before each read",
    ),
    (
        "figure-4.3",
        "Figure 4.3: web server with and without lazy registration",
    ),
    (
        "figure-4.4",
        "Figure 4.4: pollers over the depth of the pipeline",
    ),
    (
        "figure-4.5",
        "Figure 4.5: how programs with locks scale with the length of their work",
    ),
    (
        "figure-4.6",
        "Figure 4.6: cost of locks by the number of processors",
    ),
    (
        "figure-4.7",
        "Figure 4.7: web servers by the number of cores",
    ),
    (
        "figure-4.8",
        "Figure 4.8: web servers by the number of connections",
    ),
    (
        "figure-4.9",
        "Figure 4.9: web servers with very many connections",
    ),
];

/// The title of a picture; its name, where it has none.
pub(crate) fn of(name: &str) -> String {
    let known = TITLES.iter().find(|(known, _)| *known == name);
    known.map_or(name, |(_, title)| title).to_owned()
}
