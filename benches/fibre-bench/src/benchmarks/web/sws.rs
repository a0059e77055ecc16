//! `sws`: the load of Mely's figure 7 on the web server of nine handlers, beside a bare loop over
//! epoll and other servers.
//!
//! A client connects, asks for 150 files of 1 KB one after the other, closes, and connects again.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use super::LEGEND;
use super::contest::{Contest, LIMIT};
use super::serve::Load;
use crate::plan::{Benchmark, Run};
use crate::process::{installed, programs};
use crate::report::Goal;
use crate::servers::{self, ServerProgram};

pub(crate) const SWS: Benchmark = Benchmark {
    name: "sws",
    about: "Mely's figure 7: a web server over coloured events, 150 files of 1 KB on each connection, 200 to 2000 clients",
    run,
};

/// The server of coloured events.
const OURS: &str = "sws";

/// Servers of this crate that are measured, too.
const PEERS: [&str; 4] = ["epoll", "fibre", "tokio", "thread"];

/// Clients at a time.
const CLIENTS: &[usize] = &[200, 800, 2000];

/// What each of them asks for.
const LOAD: Load = Load::File {
    path: "/file/7",
    bytes: 1024,
    each: 150,
};

/// What the paper measured.
const PAPER: &str = "\
The paper, on eight cores: Mely with all its heuristics has up to 73 % more throughput than libasync-smp that steals, and 25 % \
more than libasync-smp that does not; stealing costs libasync-smp up to 33 %; Mely that does not steal has 7 to 20 % less than \
libasync-smp that does not. A theft takes 197,000 cycles in libasync-smp and 6000 in Mely, and brings 20,000 and 23,000. So many \
cores are not here; what is shown is what a request costs in CPU time, beside other servers.";

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(PAPER);
    run.report.paragraph(LEGEND);
    let site = Site::make()?;
    let program = programs::example("fibre-events", "sws")?;
    let by = |name: &str, policy: &str| {
        let arguments = ["--port", "0", "--policy", policy];
        ServerProgram::serving(name, program.clone(), &arguments)
    };
    let ours = [by(OURS, "time-left")];
    let policies = [
        by("sws, off", "off"),
        by("sws, libasync", "libasync"),
        by("sws, mely-base", "mely-base"),
    ];
    let mut single: Vec<ServerProgram> = run.servers.clone();
    single.retain(|server| PEERS.contains(&server.name.as_str()));
    let (of_events, absent) = servers::find_of_events(&mut run.report)?;
    single.extend(of_events);
    let others = std::mem::replace(&mut run.absent, absent);
    single.extend(ours.iter().cloned());
    single.push(site.webserver()?);
    match site.nginx()? {
        Some(server) => single.push(server),
        None => run
            .report
            .note("nginx: not installed, so it is not measured".into()),
    }
    let mut several = single.clone();
    several.retain(|server| ["epoll", "fibre", "asio", OURS].contains(&server.name.as_str()));
    several.extend(policies);
    for clients in run.plan.connections(CLIENTS) {
        let goal = Goal::times_of(LIMIT, 1.1);
        contest(run, clients, 1, single.clone(), Some(goal)).hold(run);
    }
    if !run.plan.is_quick() {
        for clients in run.plan.connections(&CLIENTS[..1]) {
            contest(run, clients, 2, several.clone(), None).hold(run);
        }
    }
    run.absent = others;
    run.report.picture(SWS.name);
    Ok(())
}

/// All these servers under the load of so many clients.
fn contest(
    run: &Run,
    clients: usize,
    processors: usize,
    servers: Vec<ServerProgram>,
    cpu_goal: Option<Goal>,
) -> Contest {
    let contest = Contest::new(run, SWS.name, LOAD, clients, processors);
    Contest {
        ours: OURS,
        servers,
        is_traced: false,
        cpu_goal,
        ..contest
    }
}

/// The files of those servers that read theirs; gone in the end.
struct Site(PathBuf);

impl Site {
    /// Makes a directory with the file that is asked for.
    fn make() -> io::Result<Self> {
        let name = format!("fibre-bench-site-{}", std::process::id());
        let site = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(site.0.join("file"))?;
        fs::write(site.0.join("file/7"), vec![b'x'; 1024])?;
        Ok(site)
    }

    /// The example `webserver`, a fibre for each connection, which opens the file each time.
    fn webserver(&self) -> anyhow::Result<ServerProgram> {
        let program = programs::example("fibre-rt", "webserver")?;
        let root = self.0.to_string_lossy();
        let arguments = ["--addr", "127.0.0.1:0", "--dir", &root];
        Ok(ServerProgram::serving("webserver", program, &arguments))
    }

    /// nginx as one process, if it is installed.
    fn nginx(&self) -> io::Result<Option<ServerProgram>> {
        let places = ["/usr/sbin/nginx", "/usr/bin/nginx"];
        let found = places.iter().find(|place| Path::new(place).is_file());
        if found.is_none() && !installed("nginx") {
            return Ok(None);
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let root = self.0.display();
        let settings = format!(
            "daemon off; master_process off; worker_processes 1;\n\
             pid {root}/nginx.pid; error_log /dev/null crit; worker_rlimit_nofile 16384;\n\
             events {{ worker_connections 8192; }}\n\
             http {{ access_log off; keepalive_requests 1000000; open_file_cache max=100;\n\
             server {{ listen {address} backlog=4096; root {root}; }} }}\n"
        );
        let path = self.0.join("nginx.conf");
        fs::write(&path, settings)?;
        let program = found.map_or_else(|| "nginx".into(), PathBuf::from);
        let path = path.to_string_lossy();
        let arguments = ["-c", &*path, "-e", "/dev/null"];
        Ok(Some(ServerProgram::silent(
            "nginx", program, &arguments, &address,
        )))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("fibre-bench: {} is left behind: {error}", self.0.display());
        }
    }
}
