//! The processes of the service, which are killed when it is dropped.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fibre_examples::sibling::Sibling;

/// How long a process may take to begin.
const SOON: Duration = Duration::from_secs(20);

/// A Redis server, with a folder of its own.
struct Redis {
    /// The process.
    child: Child,
    /// Its folder.
    folder: PathBuf,
    /// Where it is.
    url: String,
}

impl Redis {
    /// Starts one that writes nothing to the disk, and waits until it listens.
    fn start() -> io::Result<Self> {
        // Somebody may take the port in between; then it ends, and says so.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let folder = std::env::temp_dir().join(format!("chat-failover-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.arg("--port").arg(address.port().to_string());
        command.arg("--dir").arg(&folder).stdout(Stdio::null());
        let child = command
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("redis-server: {error}")))?;
        let mut redis = Self {
            child,
            folder,
            url: format!("redis://{address}/"),
        };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if redis.child.try_wait()?.is_some() || begun.elapsed() > SOON {
                return Err(io::Error::other("redis-server does not listen"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Redis, chat servers, and a balancer.
pub(crate) struct Service {
    /// The chat servers.
    chats: Vec<Sibling>,
    /// What clients connect to.
    balancer: Sibling,
    /// The arguments of the server that has been killed.
    killed: Option<Vec<String>>,
    /// How messages travel.
    by: String,
    /// The broker; dropped last.
    redis: Redis,
}

impl Service {
    /// Starts all of it.
    pub(crate) fn start(servers: usize, by: &str) -> io::Result<Self> {
        let redis = Redis::start()?;
        let any = "127.0.0.1:0".parse().map_err(io::Error::other)?;
        let start = |_| Sibling::start("chat", &chat_arguments(any, &redis.url, by));
        let chats = (0..servers).map(start).collect::<io::Result<Vec<_>>>()?;
        let mut arguments = vec!["--addr".to_owned(), any.to_string()];
        for chat in &chats {
            arguments.extend(["--backend".to_owned(), chat.address.to_string()]);
        }
        let balancer = Sibling::start("balancer", &arguments)?;
        Ok(Self {
            chats,
            balancer,
            killed: None,
            by: by.to_owned(),
            redis,
        })
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.balancer.address
    }

    /// Kills a chat server.
    pub(crate) fn kill_one(&mut self) -> io::Result<()> {
        let chat = self.chats.pop();
        let mut chat = chat.ok_or_else(|| io::Error::other("there is no server"))?;
        chat.child.kill()?;
        chat.child.wait()?;
        self.killed = Some(chat_arguments(chat.address, &self.redis.url, &self.by));
        Ok(())
    }

    /// Starts it again, where it was.
    pub(crate) fn start_again(&mut self) -> io::Result<()> {
        if let Some(arguments) = self.killed.take() {
            self.chats.push(Sibling::start("chat", &arguments)?);
        }
        Ok(())
    }

    /// Checks that nothing else has died, and ends all.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        for process in self.chats.iter_mut().chain([&mut self.balancer]) {
            if let Some(status) = process.child.try_wait()? {
                return Err(io::Error::other(format!("a server has ended: {status}")));
            }
        }
        Ok(())
    }
}

/// The arguments of a chat server.
fn chat_arguments(address: SocketAddr, redis: &str, by: &str) -> Vec<String> {
    let address = address.to_string();
    let all = [
        "--addr", &address, "--broker", redis, "--by", by, "--outbox", "8192",
    ];
    all.map(str::to_owned).to_vec()
}
