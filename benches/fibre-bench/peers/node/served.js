// Node.js, as a peer: the servers of the paper on Eve, in one thread of JavaScript.
//
// `peer-node served echoing|counting` serves, and prints the address it listens on. When its
// standard input is closed it prints the counter's value and ends. A request to the counter is one
// byte, 0 to read it and 1 to add one; the answer is the value in eight bytes, the least significant
// first. Without arguments it prints nothing, for it has no workloads without a client. A wrong call
// ends with exit code 2. `processors` changes nothing: Node has one.

'use strict';

const net = require('node:net');

/** Requests to the counter. */
const READ = 0;
const INCREMENT = 1;

/** How many connections may wait to be accepted. */
const BACKLOG = 4096;

/** The counter. It is below 2^53, so a number holds it. */
let counter = 0;

/** Sends back what comes. */
function echo(socket) {
  socket.on('data', (bytes) => socket.write(bytes));
}

/** Answers requests to the counter. */
function count(socket) {
  socket.on('data', (requests) => {
    for (const request of requests) {
      if (request === INCREMENT) {
        counter += 1;
      } else if (request !== READ) {
        socket.destroy(new Error(`${request} is no request`));
        return;
      }
      const answer = Buffer.allocUnsafe(8);
      answer.writeUInt32LE(counter % 2 ** 32, 0);
      answer.writeUInt32LE(Math.floor(counter / 2 ** 32), 4);
      socket.write(answer);
    }
  });
}

/** The servers, by name. */
const SERVERS = new Map([
  ['echoing', echo],
  ['counting', count],
]);

/** Ends a wrong call. */
function refuse(why) {
  process.stderr.write(`peer-node: ${why}\n`);
  process.exit(2);
}

/** Serves for ever. */
function serve(handle) {
  const server = net.createServer({ noDelay: true }, (socket) => {
    // An error ends a connection like a close.
    socket.on('error', () => {});
    handle(socket);
  });
  server.on('error', (error) => {
    process.stderr.write(`peer-node: ${error.message}\n`);
    process.exit(1);
  });
  server.listen({ host: '127.0.0.1', port: 0, backlog: BACKLOG }, () => {
    process.stdout.write(`listening on 127.0.0.1:${server.address().port}\n`);
  });
  process.stdin.on('end', () => {
    process.stdout.write(`counter ${counter}\n`, () => process.exit(0));
  });
  process.stdin.resume();
}

const [verb, name, ...settings] = process.argv.slice(2);
if (verb !== undefined) {
  const unknown = settings.find((word) => !/^(processors|size|seconds)=[1-9][0-9]*$/.test(word));
  if (verb !== 'served') {
    refuse(`there is no workload ${verb}`);
  } else if (!SERVERS.has(name)) {
    refuse(`there is no server ${name}`);
  } else if (unknown !== undefined) {
    refuse(`there is no key for ${unknown}`);
  } else {
    serve(SERVERS.get(name));
  }
}
