//! Fibres call a library of tokio's, and tasks of tokio's call fibres.
//!
//! `cargo run --package fibre-hyper --example with_tokio`

use std::io::{self, Read, Write};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Handle, Runtime};

/// A "library" of tokio's: asks a server something, and needs tokio's reactor and timers for it.
async fn ask(address: std::net::SocketAddr, question: String) -> io::Result<String> {
    let asks = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(question.as_bytes()).await?;
        stream.shutdown().await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    tokio::time::timeout(Duration::from_secs(5), asks).await?
}

/// From fibres to tokio: the task runs on tokio's threads, and the fibre waits for it. Blocks the
/// fibre.
fn ask_from_fibre(
    tokio: &Handle,
    address: std::net::SocketAddr,
    question: String,
) -> io::Result<String> {
    fibre::block_on(tokio.spawn(ask(address, question)))?
}

/// From tokio to fibres: a server of tokio's has fibres make the answers, which may block.
async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            // No descriptor is free, say.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        tokio::spawn(async move {
            let mut question = String::new();
            stream.read_to_string(&mut question).await?;
            let answer = fibre::spawn(move || {
                fibre::sleep(Duration::from_millis(1)); // blocks the fibre, no thread
                question.to_uppercase()
            });
            let answer = answer
                .await
                .map_err(|_| io::Error::other("the fibre panicked"))?;
            stream.write_all(answer.as_bytes()).await
        });
    }
}

fn main() -> io::Result<()> {
    let runtime = Runtime::new()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let server = runtime.spawn(serve(listener));
    let questions = (0..100).map(|number| {
        let tokio = runtime.handle().clone();
        fibre::spawn(move || ask_from_fibre(&tokio, address, format!("question {number}")))
    });
    let questions: Vec<_> = questions.collect();
    for (number, question) in questions.into_iter().enumerate() {
        let answer = question
            .join()
            .map_err(|_| io::Error::other("a fibre panicked"))??;
        assert_eq!(answer, format!("QUESTION {number}"));
    }
    // Channels join them, too, and sockets do anyway.
    let (sender, receiver) = fibre::channel::bounded(1);
    let task = runtime.spawn(async move {
        let mut sum = 0;
        while let Ok(number) = receiver.recv_async().await {
            sum += number;
        }
        sum
    });
    let fibre = fibre::spawn(move || (1..=100).all(|number| sender.send(number).is_ok()));
    assert!(fibre.join().is_ok_and(|sent| sent));
    let sum = fibre::block_on(task)?;
    assert_eq!(sum, 5050);
    let mut stream = fibre::net::TcpStream::connect(address)?;
    stream.write_all(b"from a plain thread")?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    assert_eq!(answer, "FROM A PLAIN THREAD");
    server.abort();
    println!("100 questions of fibres to tokio, each answered by a fibre; the sum is {sum}");
    Ok(())
}
