//! The server as a process, and its CPU time.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use procfs::process::Process;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// A server that runs, and is killed when dropped.
pub(crate) struct Subject {
    /// The process.
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Where it has written its certificate.
    certificate: PathBuf,
}

impl Subject {
    /// Starts the program `https` that lies beside this one.
    pub(crate) fn start(threads: bool, processors: usize) -> io::Result<Self> {
        let program = std::env::current_exe()?.with_file_name("https");
        let name = format!("tls-cost-{}.pem", std::process::id());
        let certificate = std::env::temp_dir().join(name);
        let mut command = Command::new(&program);
        command.args(["--addr", "127.0.0.1:0", "--write-cert"]);
        command.arg(&certificate);
        command.arg("--processors").arg(processors.to_string());
        if threads {
            command.arg("--threads");
        }
        let child = command.stdout(Stdio::piped()).spawn();
        let child = child.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", program.display()))
        })?;
        let mut subject = Self {
            child,
            address: ([127, 0, 0, 1], 0).into(),
            certificate,
        };
        let mut line = String::new();
        if let Some(stdout) = subject.child.stdout.take() {
            let mut stdout = BufReader::new(stdout);
            stdout.read_line(&mut line)?;
            subject.child.stdout = Some(stdout.into_inner());
        }
        let address = line.trim().strip_prefix("listening on https://");
        let address = address.and_then(|address| address.parse().ok());
        subject.address = address.ok_or_else(|| io::Error::other("https does not listen"))?;
        Ok(subject)
    }

    /// Its certificate.
    pub(crate) fn certificate(&self) -> io::Result<CertificateDer<'static>> {
        CertificateDer::from_pem_file(&self.certificate).map_err(io::Error::other)
    }

    /// The processor time that it has used.
    pub(crate) fn processor_time(&self) -> io::Result<Duration> {
        let process = Process::new(self.child.id().cast_signed()).map_err(io::Error::other)?;
        let stat = process.stat().map_err(io::Error::other)?;
        let ticks = (stat.utime + stat.stime) as f64;
        Ok(Duration::from_secs_f64(
            ticks / procfs::ticks_per_second() as f64,
        ))
    }

    /// Stops it.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.certificate);
    }
}
