//! An actor that blocks: on a socket, on a lock, and for an answer, all in one handler.
//!
//! Each scribe has a connection to a log server. To write a line it takes the lock of the book,
//! sends the line, and waits for the server's receipt. Meanwhile other actors run, on as few as one
//! processor.
//!
//! `cargo run -p fibre-actors --example log_book`

use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Mutex;
use fibre_actors::{Actor, Actors, Context, Reply};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;

/// What all scribes write to, besides the server.
type Book = Arc<Mutex<Vec<String>>>;

/// Writes lines, and answers with the number of the server's receipt.
struct Scribe {
    server: BufReader<TcpStream>,
    book: Book,
}

impl Scribe {
    /// Writes one line. Blocks the fibre.
    fn write(&mut self, line: &str) -> io::Result<u32> {
        // The lock is held while the server takes its time: so the book has the server's order.
        let mut book = self.book.lock();
        self.server.get_mut().write_all(line.as_bytes())?;
        self.server.get_mut().write_all(b"\n")?;
        let mut receipt = String::new();
        self.server.read_line(&mut receipt)?;
        book.push(line.to_owned());
        receipt.trim().parse().map_err(io::Error::other)
    }
}

impl Actor for Scribe {
    type Message = (String, Reply<io::Result<u32>>);

    fn handle(&mut self, (line, reply): Self::Message, _: &mut Context<'_, Self>) {
        reply.send(self.write(&line));
    }
}

/// Numbers the lines of one connection after all others.
fn serve(stream: TcpStream, count: &Mutex<u32>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line)? > 0 {
        let number = {
            let mut count = count.lock();
            *count += 1;
            *count
        };
        writeln!(stream.get_mut(), "{number}")?;
        line.clear();
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    fibre::spawn(move || {
        let count = Arc::new(Mutex::new(0));
        for (stream, _) in listener.connections() {
            let count = Arc::clone(&count);
            fibre::spawn(move || serve(stream, &count));
        }
    });

    let actors = Actors::builder().processors(1).build()?;
    let book = Book::default();
    let mut scribes = Vec::new();
    for _ in 0..5 {
        scribes.push(actors.spawn(Scribe {
            server: BufReader::new(TcpStream::connect(address)?),
            book: Arc::clone(&book),
        }));
    }
    let writers: Vec<_> = (0..20)
        .map(|writer| {
            let scribe = scribes[writer % scribes.len()].clone();
            fibre::spawn(move || scribe.ask(|reply| (format!("line {writer}"), reply)))
        })
        .collect();
    let mut receipts = Vec::new();
    for writer in writers {
        let answer = writer.join().map_err(|_| "a writer has panicked")?;
        receipts.push(answer??);
    }
    receipts.sort_unstable();
    assert!(receipts.into_iter().eq(1..=20));
    println!("{:#?}", book.lock());
    actors.stop();
    Ok(())
}
