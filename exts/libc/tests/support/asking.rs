//! A client of tokio's, for runtimes in fibres.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Asks, and gets the answer.
pub async fn ask(address: SocketAddr, question: u64) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    for turn in 0..3 {
        let question = (question * 10 + turn).to_le_bytes();
        let mut answer = [0; 8];
        stream.write_all(&question).await.unwrap();
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(question, answer);
    }
}
