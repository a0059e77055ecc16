// A goroutine per connection, over the net package's own sockets: a web server
// without an HTTP library, or an echo server.
//
// It prints the address it listens on and ends when its standard input is
// closed, so that no server outlives the harness. Nagle's algorithm is off, as
// it is by default in Go.

package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
)

// backlog is how many connections may wait to be accepted.
const backlog = 4096

// filesOfKernel is how many files the kernel lets a process open (fs.nr_open).
const filesOfKernel = 1 << 20

// readBuffer is how many bytes a connection offers to one read: 4096, or few.
var readBuffer = 4096

// smallBuffer is a buffer for connections that rest.
const smallBuffer = 1024

// serve takes connections for ever: server [--echo] [--small-buffer] [--processors N] [ADDRESS].
func serve(arguments []string) error {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	echoing := flags.Bool("echo", false, "send back what is read")
	small := flags.Bool("small-buffer", false, "offer little room to each read")
	processors := flags.Int("processors", 1, "GOMAXPROCS")
	address, err := parseServer(flags, arguments)
	if err != nil {
		return usageError{err}
	}
	if *processors < 1 {
		return usageError{fmt.Errorf("%d processors are too few", *processors)}
	}
	runtime.GOMAXPROCS(*processors)
	if *small {
		readBuffer = smallBuffer
	}
	handle := answerRequests
	if *echoing {
		handle = echo
	}
	return accept(address, handle, func() {})
}

// parseServer reads flags before and after the address, which it returns.
func parseServer(flags *flag.FlagSet, arguments []string) (string, error) {
	address := ""
	for {
		if err := flags.Parse(arguments); err != nil {
			return "", err
		}
		switch {
		case flags.NArg() == 0 && address == "":
			return "127.0.0.1:0", nil
		case flags.NArg() == 0:
			return address, nil
		case address != "":
			return "", fmt.Errorf("a second address: %s", flags.Arg(0))
		}
		address = flags.Arg(0)
		arguments = flags.Args()[1:]
	}
}

// accept listens and starts a goroutine for each connection; an error ends a
// connection like a close. `last` runs before the process ends.
func accept(address string, handle func(net.Conn) error, last func()) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if err := deepenBacklog(listener.(*net.TCPListener)); err != nil {
		return err
	}
	raiseFileLimit()
	if _, err := fmt.Printf("listening on %s\n", listener.Addr()); err != nil {
		return err
	}
	go exitWhenStdinCloses(last)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer connection.Close()
			handle(connection)
		}()
	}
}

// answerRequests answers requests until the client goes away.
func answerRequests(connection net.Conn) error {
	var requests scanner
	buffer := make([]byte, readBuffer)
	for {
		length, err := connection.Read(buffer)
		if err != nil {
			return err
		}
		for left := requests.feed(buffer[:length]); left > 0; left -= answersPerWrite {
			now := answers
			if left < answersPerWrite {
				now = answers[:left*len(answer)]
			}
			if _, err := connection.Write(now); err != nil {
				return err
			}
		}
	}
}

// echo sends back what it reads until the client goes away.
func echo(connection net.Conn) error {
	buffer := make([]byte, readBuffer)
	for {
		length, err := connection.Read(buffer)
		if err != nil {
			return err
		}
		if _, err := connection.Write(buffer[:length]); err != nil {
			return err
		}
	}
}

// deepenBacklog lets more connections wait than the library asked for.
func deepenBacklog(listener *net.TCPListener) error {
	descriptor, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	if err := descriptor.Control(func(fd uintptr) {
		failure = syscall.Listen(int(fd), backlog)
	}); err != nil {
		return err
	}
	return failure
}

// raiseFileLimit lets this process open as many files as the kernel can, where it
// has the privilege. Go itself has raised the limit to what anybody may have.
func raiseFileLimit() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Max >= filesOfKernel {
		return
	}
	raised := syscall.Rlimit{Cur: filesOfKernel, Max: filesOfKernel}
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) != nil {
		return // without the privilege the limit stays
	}
}

// exitWhenStdinCloses ends the process when nobody holds its input any more; `last`
// runs before.
func exitWhenStdinCloses(last func()) {
	io.Copy(io.Discard, os.Stdin)
	last()
	os.Exit(0)
}
