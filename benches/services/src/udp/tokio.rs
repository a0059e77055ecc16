//! The UDP service on tokio: a task for each datagram.

use std::io;
use std::sync::Arc;

use clap::Parser;
use fibre_services::{GRACE, Udp, say};
use tokio::fs;
use tokio::net::UdpSocket;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Runs the program, and returns what it prints.
async fn ask(options: &Udp, greeting: &str, question: &str) -> io::Result<Vec<u8>> {
    let mut command = Command::new(&options.program);
    command.args([greeting.trim(), question]).kill_on_drop(true);
    let output = timeout(options.each, command.output()).await??;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(io::Error::other(output.status.to_string())),
    }
}

/// Answers datagrams for ever.
async fn serve(
    socket: Arc<UdpSocket>,
    options: Arc<Udp>,
    greeting: watch::Receiver<String>,
    tasks: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(options.most));
    let mut buffer = [0; 1500];
    while let Ok(place) = places.clone().acquire_owned().await {
        let (length, client) = match socket.recv_from(&mut buffer).await {
            Ok(received) => received,
            Err(error) => {
                eprintln!("receive: {error}");
                continue;
            }
        };
        let question = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let (socket, options) = (socket.clone(), options.clone());
        let greeting = greeting.borrow().clone();
        tasks.spawn(async move {
            let _place = place;
            let answer = ask(&options, &greeting, &question).await;
            let answer = answer.unwrap_or_else(|error| format!("error: {error}").into_bytes());
            if let Err(error) = socket.send_to(&answer, client).await {
                eprintln!("{client}: {error}");
            }
        });
    }
}

/// Runs until SIGTERM comes, and then until all answers have been sent.
async fn run(options: Arc<Udp>) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let socket = Arc::new(UdpSocket::bind(options.listen).await?);
    let (settings, greeting) = watch::channel(fs::read_to_string(&options.greeting).await?);
    say(format_args!("listening on {}", socket.local_addr()?))?;
    let tasks = TaskTracker::new();
    let serve = serve(socket, options.clone(), greeting, tasks.clone());
    let serving = tokio::spawn(serve);
    loop {
        tokio::select! {
            _ = hangup.recv() => match fs::read_to_string(&options.greeting).await {
                Ok(greeting) => drop(settings.send(greeting)),
                Err(error) => eprintln!("the greeting stays: {error}"),
            },
            _ = terminate.recv() => break,
        }
    }
    serving.abort();
    tasks.close();
    Ok(timeout(options.each + GRACE, tasks.wait()).await?)
}

fn main() -> io::Result<()> {
    let options = Arc::new(Udp::parse());
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(options.threads.count());
    runtime.enable_all().build()?.block_on(run(options))
}
