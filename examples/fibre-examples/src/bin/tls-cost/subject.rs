//! The server as a process, and its CPU time.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use fibre_examples::sibling::Sibling;
use procfs::process::Process;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// A server that runs, and is killed when dropped.
pub(crate) struct Subject {
    /// The process.
    server: Sibling,
    /// Where it has written its certificate.
    certificate: PathBuf,
}

impl Subject {
    /// Starts the program `https` that lies beside this one.
    pub(crate) fn start(threads: bool, processors: usize) -> io::Result<Self> {
        let name = format!("tls-cost-{}.pem", std::process::id());
        let certificate = std::env::temp_dir().join(name);
        let file = certificate.display().to_string();
        let processors = processors.to_string();
        let arguments = [
            "--addr",
            "127.0.0.1:0",
            "--write-cert",
            &file,
            "--processors",
            &processors,
        ];
        let arguments = arguments.into_iter().chain(threads.then_some("--threads"));
        let arguments: Vec<String> = arguments.map(str::to_owned).collect();
        let server = Sibling::start("https", &arguments);
        let server = server.inspect_err(|_| drop(fs::remove_file(&certificate)))?;
        Ok(Self {
            server,
            certificate,
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Its certificate.
    pub(crate) fn certificate(&self) -> io::Result<CertificateDer<'static>> {
        CertificateDer::from_pem_file(&self.certificate).map_err(io::Error::other)
    }

    /// The processor time that it has used.
    pub(crate) fn processor_time(&self) -> io::Result<Duration> {
        let process =
            Process::new(self.server.child.id().cast_signed()).map_err(io::Error::other)?;
        let stat = process.stat().map_err(io::Error::other)?;
        let ticks = (stat.utime + stat.stime) as f64;
        Ok(Duration::from_secs_f64(
            ticks / procfs::ticks_per_second() as f64,
        ))
    }

    /// Stops it.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        self.server.child.kill()?;
        self.server.child.wait().map(drop)
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.certificate);
    }
}
