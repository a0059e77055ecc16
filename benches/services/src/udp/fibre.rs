//! The UDP service on fibres: one for each datagram.

use std::io;
use std::sync::Arc;

use clap::Parser;
use fibre::channel::{WatchReceiver, watch};
use fibre::net::UdpSocket;
use fibre::process::Command;
use fibre::signal::{SIGHUP, SIGTERM, Signals};
use fibre::sync::Semaphore;
use fibre::{Builder, CancelToken, Cluster, Limit, fs};
use fibre_services::{GRACE, Udp, say};

/// Runs the program, and returns what it prints.
fn ask(options: &Udp, greeting: &str, question: &str) -> io::Result<Vec<u8>> {
    let mut command = Command::new(&options.program);
    command.args([greeting.trim(), question]).kill_on_drop(true);
    match command.output_timeout(options.each)? {
        Some(output) if output.status.success() => Ok(output.stdout),
        Some(output) => Err(io::Error::other(output.status.to_string())),
        None => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Answers datagrams until it is cancelled.
fn serve(socket: &Arc<UdpSocket>, options: &Arc<Udp>, greeting: &WatchReceiver<String>) {
    let places = Arc::new(Semaphore::new(options.most));
    let mut buffer = [0; 1500];
    while let Ok(place) = places.permit_owned_within(Limit::Cancellation) {
        let (length, client) = match socket.recv_from(&mut buffer) {
            Ok(received) => received,
            Err(error) if fibre::is_cancelled_error(&error) => return,
            Err(error) => {
                eprintln!("receive: {error}");
                continue;
            }
        };
        let question = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let (socket, options, greeting) = (socket.clone(), options.clone(), greeting.get());
        fibre::spawn(move || {
            let _place = place;
            let answer = ask(&options, &greeting, &question);
            let answer = answer.unwrap_or_else(|error| format!("error: {error}").into_bytes());
            if let Err(error) = socket.send_to(&answer, client) {
                eprintln!("{client}: {error}");
            }
        });
    }
}

fn main() -> io::Result<()> {
    let options = Arc::new(Udp::parse());
    let signals = Signals::new([SIGHUP, SIGTERM])?;
    let threads = options.threads.count();
    let cluster = Cluster::builder().processors(threads).build()?;
    let socket = Arc::new(UdpSocket::bind(options.listen)?);
    let (settings, greeting) = watch(fs::read_to_string(&options.greeting)?);
    say(format_args!("listening on {}", socket.local_addr()?))?;
    let (each, receiving) = (options.each, CancelToken::new());
    let (server, again) = (
        Builder::new().cancel_token(&receiving),
        options.greeting.clone(),
    );
    drop(server.spawn_in(&cluster, move || serve(&socket, &options, &greeting))?);
    while signals.wait()? == SIGHUP {
        match fs::read_to_string(&again) {
            Ok(greeting) => drop(settings.send(greeting)),
            Err(error) => eprintln!("the greeting stays: {error}"),
        }
    }
    receiving.cancel();
    Ok(cluster.stop_within(each, GRACE)?)
}
