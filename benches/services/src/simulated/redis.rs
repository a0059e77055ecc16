//! The client `redis` over a simulated network: its commands, its packing and its parser, over a
//! stream of fibre's. Its own connections are sockets of std, which a simulation does not have.

use crate::network::{HEALED, ms, spoil};
use ::redis::{Cmd, ConnectionLike, Parser, RedisResult, Value};
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Mutex;
use fibre_test::Sim;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;

/// Where the server listens.
const PORT: u16 = 6379;

/// A connection: one command at a time.
struct Connection {
    stream: BufReader<TcpStream>,
    parser: Parser,
    is_open: bool,
}

impl Connection {
    /// Connects, and gives each call so much time.
    fn open(each: std::time::Duration) -> io::Result<Self> {
        let stream = TcpStream::connect(("redis", PORT))?;
        stream.set_read_timeout(Some(each))?;
        stream.set_write_timeout(Some(each))?;
        Ok(Self {
            stream: BufReader::new(stream),
            parser: Parser::new(),
            is_open: true,
        })
    }

    /// Sends packed commands.
    fn send(&mut self, packed: &[u8]) -> RedisResult<()> {
        let sent = self.stream.get_mut().write_all(packed);
        self.is_open &= sent.is_ok();
        Ok(sent?)
    }

    /// Receives an answer.
    fn receive(&mut self) -> RedisResult<Value> {
        let value = self.parser.parse_value(&mut self.stream);
        self.is_open &= value.is_ok();
        value
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command(&mut self, packed: &[u8]) -> RedisResult<Value> {
        self.send(packed)?;
        self.receive()
    }

    fn req_packed_commands(
        &mut self,
        packed: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        self.send(packed)?;
        let values: RedisResult<Vec<_>> = (0..offset + count).map(|_| self.receive()).collect();
        values.map(|mut values| values.split_off(offset))
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        self.is_open
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

/// One list, which `RPUSH` adds to and `LRANGE` shows.
type List = Arc<Mutex<Vec<String>>>;

/// Reads a line without its end.
fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

/// Reads a command: an array of strings.
fn command(stream: &mut impl BufRead) -> io::Result<Vec<String>> {
    let number = |line: String| line[1..].parse::<usize>().map_err(io::Error::other);
    let count = number(line(stream)?)?;
    let word = |_| {
        let mut bytes = vec![0; number(line(stream)?)? + 2];
        stream.read_exact(&mut bytes)?;
        bytes.truncate(bytes.len() - 2);
        String::from_utf8(bytes).map_err(io::Error::other)
    };
    (0..count).map(word).collect()
}

/// Answers commands.
fn serve(list: &List) -> io::Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", PORT))?;
    for (stream, _) in listener.connections() {
        let list = Arc::clone(list);
        fibre::spawn(move || -> io::Result<()> {
            let mut stream = BufReader::new(stream);
            loop {
                let words = command(&mut stream)?;
                let answer = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    ["RPUSH", _, value] => {
                        let mut list = list.lock();
                        list.push(value.to_owned());
                        format!(":{}\r\n", list.len())
                    }
                    ["LRANGE", ..] => {
                        let list = list.lock();
                        let word = |word: &String| format!("${}\r\n{word}\r\n", word.len());
                        let words: String = list.iter().map(word).collect();
                        format!("*{}\r\n{words}", list.len())
                    }
                    _ => "-ERR unknown\r\n".to_owned(),
                };
                stream.get_mut().write_all(answer.as_bytes())?;
            }
        });
    }
    Ok(())
}

/// Adds orders over a bad link: those that are answered are there once, in their order; the others
/// once at most.
pub(crate) fn run(sim: &Sim) {
    let (host, app) = (sim.host("redis"), sim.host("app"));
    let list = List::default();
    let serves = Arc::clone(&list);
    host.run(move || serve(&serves));
    sim.settle();
    let is_sound = spoil(sim, "app", "redis");
    let orders = 3 + sim.draw(0..5);
    let adds = app.run(move || {
        let (mut answered, mut connection) = (Vec::new(), None);
        for order in 0..orders {
            let order = format!("order {order}");
            let mut add = || -> RedisResult<u64> {
                let mut open = match connection.take() {
                    Some(open) => open,
                    None => Connection::open(ms(2000))?,
                };
                let count = Cmd::rpush("orders", &order).query(&mut open)?;
                connection = Some(open);
                Ok(count)
            };
            match add() {
                Ok(_) => answered.push(order),
                Err(error) => assert!(!is_sound, "over a sound link: {error}"),
            }
            fibre::sleep(ms(1000));
        }
        answered
    });
    let answered = adds.join().expect("it panicked");
    sim.link("app", "redis").drop_rate(0.0).heal().release();
    sim.advance(4 * HEALED);
    let shows = app.run(|| {
        let mut connection = Connection::open(HEALED)?;
        Cmd::lrange("orders", 0, -1).query::<Vec<String>>(&mut connection)
    });
    let all = shows.join().expect("it panicked").expect("no answer");
    assert_eq!(all, *list.lock());
    let there: Vec<_> = all
        .iter()
        .filter(|order| answered.contains(order))
        .collect();
    assert_eq!(
        there,
        answered.iter().collect::<Vec<_>>(),
        "an order is lost, or came twice"
    );
    let mut once = all.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), all.len(), "an order came twice: {all:?}");
}
