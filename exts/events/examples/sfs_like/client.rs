//! A blocking client.

use crate::seal::{self, Channel, Forged, LENGTH, Secret, Side};
use crate::wire::{Call, HELLO, Status, Wish};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A connection to the server.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) channel: Channel,
    /// The number of the last call.
    number: u32,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) number: u32,
    pub(crate) status: Status,
    pub(crate) result: Vec<u8>,
}

impl Connection {
    /// Says hello.
    pub(crate) fn open(address: SocketAddr, secret: &Secret) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let ours = seal::salt()?;
        stream.write_all(&[&HELLO[..], &ours].concat())?;
        let mut theirs = seal::Salt::default();
        stream.read_exact(&mut theirs)?;
        Ok(Self {
            stream,
            channel: Channel::new(secret, Side::Client, [ours, theirs]),
            number: 0,
        })
    }

    /// The frame of a call.
    pub(crate) fn frame(&mut self, wish: Option<Wish>) -> Vec<u8> {
        self.number += 1;
        let mut frame = vec![0; LENGTH];
        let number = self.number;
        Call { number, wish }.write_to(&mut frame);
        self.channel.seal(&mut frame);
        frame
    }

    /// The next answer.
    pub(crate) fn reply(&mut self) -> io::Result<Reply> {
        let mut frame = vec![0; LENGTH];
        self.stream.read_exact(&mut frame)?;
        let length = seal::frame_length(&frame).map_err(forged)?;
        frame.resize(length.unwrap_or(LENGTH), 0);
        self.stream.read_exact(&mut frame[LENGTH..])?;
        let opened = self.channel.open(&mut frame).map_err(forged)?;
        understood(opened).ok_or_else(|| io::Error::other("an answer that is none"))
    }

    /// Calls, and waits for the answer.
    pub(crate) fn call(&mut self, wish: Wish) -> io::Result<Reply> {
        let frame = self.frame(Some(wish));
        self.stream.write_all(&frame)?;
        self.reply()
    }

    /// Looks a file up: its handle and its size.
    pub(crate) fn look_up(&mut self, name: &str) -> io::Result<(u64, u64)> {
        let reply = self.call(Wish::LookUp(name.into()))?;
        let found = reply.result.split_first_chunk::<8>();
        let found = found.and_then(|(file, rest)| Some((file, rest.first_chunk()?)));
        match found {
            Some((file, size)) if reply.status == Status::Done => {
                Ok((u64::from_be_bytes(*file), u64::from_be_bytes(*size)))
            }
            _ => Err(io::Error::other(format!("{name}: {:?}", reply.status))),
        }
    }
}

/// The answer in what was sealed.
fn understood(bytes: &[u8]) -> Option<Reply> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (&status, result) = rest.split_first()?;
    Some(Reply {
        number: u32::from_be_bytes(*number),
        status: Status::of(status)?,
        result: result.to_vec(),
    })
}

/// The error of a frame that nobody with the secret has sent.
fn forged(_: Forged) -> io::Error {
    io::Error::other("a forged frame")
}
