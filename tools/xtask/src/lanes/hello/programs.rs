//! The programs: the same for each runtime, in the style of each.

/// A program.
pub(super) struct Program {
    /// The name of its package.
    pub(super) name: &'static str,
    /// What it is called in the table.
    pub(super) title: &'static str,
    /// What it depends on; `ROOT` is this tree.
    pub(super) needs: &'static str,
    /// Its text.
    pub(super) source: &'static str,
    /// Whether it must be made of few packages.
    pub(super) is_small: bool,
}

/// What fibres and threads run.
macro_rules! blocking {
    ($uses:literal, $spawn:literal) => {
        concat!(
            "use std::io::{Read, Write};\n",
            $uses,
            "\nfn main() -> std::io::Result<()> {\n\
             let listener = TcpListener::bind(\"127.0.0.1:0\")?;\n\
             let address = listener.local_addr()?;\n",
            $spawn,
            "let mut word = String::new();\n\
             TcpStream::connect(address)?.read_to_string(&mut word)?;\n\
             println!(\"{word}\");\nOk(())\n}\n"
        )
    };
}

/// Those on fibres.
const ON_FIBRES: &str = blocking!(
    "use fibre::net::{TcpListener, TcpStream};",
    "fibre::spawn(move || listener.accept()?.0.write_all(b\"hello\"));\n"
);

/// The programs, in the order of the table.
pub(super) const PROGRAMS: [Program; 6] = [
    Program {
        name: "fibre",
        title: "fibre",
        needs: "fibre-rt = { path = \"ROOT\" }",
        source: ON_FIBRES,
        is_small: false,
    },
    Program {
        name: "fibre-alone",
        title: "fibre, `default-features = false`",
        needs: "fibre-rt = { path = \"ROOT\", default-features = false }",
        source: ON_FIBRES,
        is_small: true,
    },
    Program {
        name: "tokio",
        title: "tokio: `rt-multi-thread`, `net`, `io-util`, `macros`",
        needs: "tokio = { version = \"1\", features = [\"rt-multi-thread\", \"net\", \"io-util\", \"macros\"] }",
        source: "use tokio::io::{AsyncReadExt, AsyncWriteExt};\n\
            use tokio::net::{TcpListener, TcpStream};\n\
            #[tokio::main]\nasync fn main() -> std::io::Result<()> {\n\
            let listener = TcpListener::bind(\"127.0.0.1:0\").await?;\n\
            let address = listener.local_addr()?;\n\
            tokio::spawn(async move { listener.accept().await?.0.write_all(b\"hello\").await });\n\
            let mut word = String::new();\n\
            TcpStream::connect(address).await?.read_to_string(&mut word).await?;\n\
            println!(\"{word}\");\nOk(())\n}\n",
        is_small: false,
    },
    Program {
        name: "may",
        title: "may",
        needs: "may = \"0.3\"",
        source: blocking!(
            "use may::net::{TcpListener, TcpStream};",
            "unsafe { may::coroutine::spawn(move || listener.accept()?.0.write_all(b\"hello\")) };\n"
        ),
        is_small: false,
    },
    Program {
        name: "smol",
        title: "smol",
        needs: "smol = \"2\"",
        source: "use smol::io::{AsyncReadExt, AsyncWriteExt};\n\
            use smol::net::{TcpListener, TcpStream};\n\
            fn main() -> std::io::Result<()> {\n smol::block_on(async {\n\
            let listener = TcpListener::bind(\"127.0.0.1:0\").await?;\n\
            let address = listener.local_addr()?;\n\
            smol::spawn(async move { listener.accept().await?.0.write_all(b\"hello\").await }).detach();\n\
            let mut word = String::new();\n\
            TcpStream::connect(address).await?.read_to_string(&mut word).await?;\n\
            println!(\"{word}\");\nOk(())\n})\n}\n",
        is_small: false,
    },
    Program {
        name: "threads",
        title: "threads of std",
        needs: "",
        source: blocking!(
            "use std::net::{TcpListener, TcpStream};",
            "std::thread::spawn(move || listener.accept()?.0.write_all(b\"hello\"));\n"
        ),
        is_small: false,
    },
];
