// The servers of the paper on Eve: `peer-go served echoing|counting` serves, a
// goroutine for each connection, and prints the address it listens on. When its
// standard input is closed it prints the counter's value and ends.
//
// A request to the counter is one byte, 0 to read it and 1 to add one; the answer
// is the value in eight bytes, the least significant first. The counter has a
// lock of its own, which readers share.

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
)

// Requests to the counter.
const (
	readRequest      = 0
	incrementRequest = 1
)

// counter is a number that all connections share.
type counter struct {
	lock  sync.RWMutex
	value uint64
}

// read returns the value.
func (c *counter) read() uint64 {
	c.lock.RLock()
	defer c.lock.RUnlock()
	return c.value
}

// increment adds one and returns the new value.
func (c *counter) increment() uint64 {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.value++
	return c.value
}

// answer is the value that a request asks for.
func (c *counter) answer(request byte) (uint64, error) {
	switch request {
	case readRequest:
		return c.read(), nil
	case incrementRequest:
		return c.increment(), nil
	}
	return 0, fmt.Errorf("%d is no request", request)
}

// handle answers the requests of a connection until the client goes away.
func (c *counter) handle(connection net.Conn) error {
	request, answer := make([]byte, 1), make([]byte, 8)
	for {
		if _, err := io.ReadFull(connection, request); err != nil {
			return err
		}
		value, err := c.answer(request[0])
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(answer, value)
		if _, err := connection.Write(answer); err != nil {
			return err
		}
	}
}

// served serves what the first argument says; the rest is settings.
func served(arguments []string) error {
	if len(arguments) == 0 {
		return usageError{fmt.Errorf("served needs echoing or counting")}
	}
	given, err := parse([]key{{"size", 16, 1}}, arguments[1:])
	if err != nil {
		return err
	}
	var counted counter
	var handle func(net.Conn) error
	switch arguments[0] {
	case "echoing":
		readBuffer = given.count("size")
		handle = echo
	case "counting":
		handle = counted.handle
	default:
		return usageError{fmt.Errorf("there is no server %q", arguments[0])}
	}
	runtime.GOMAXPROCS(given.count("processors"))
	return accept("127.0.0.1:0", handle, func() {
		fmt.Printf("counter %d\n", counted.read())
	})
}
