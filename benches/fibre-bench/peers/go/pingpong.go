// semaphore, condvar, channel, pipe: two goroutines that wake each other in turn.
//
// One operation is a round trip: two wakes, two blocks. Go has no semaphore;
// what a Go program uses is a channel of capacity 1 without contents, so here
// the semaphore differs from the channel only in that nothing is carried.

package main

import (
	"encoding/binary"
	"io"
	"os"
	"sync"
)

// semaphore has one permit at most; the permit is in the channel.
type semaphore chan struct{}

// emptySemaphore has no permit.
func emptySemaphore() semaphore {
	return make(semaphore, 1)
}

// acquire takes the permit, and blocks until there is one.
func (s semaphore) acquire() {
	<-s
}

// release adds the permit, and blocks while there is one.
func (s semaphore) release() {
	s <- struct{}{}
}

// turns is a flag under a mutex, with a condition variable on which two
// players wait for their turn.
type turns struct {
	// turn is whose it is.
	turn bool
	// changed is told of each change of the turn, and holds the mutex.
	changed *sync.Cond
}

// take blocks until it is the player's turn and hands the turn over.
func (t *turns) take(player bool) {
	t.changed.L.Lock()
	for t.turn != player {
		t.changed.Wait()
	}
	t.turn = !player
	t.changed.Signal()
	t.changed.L.Unlock()
}

// semaphores measures a round trip over two semaphores.
func semaphores(given settings) (sample, error) {
	there, back := emptySemaphore(), emptySemaphore()
	ping := func() {
		there.release()
		back.acquire()
	}
	pong := func() {
		there.acquire()
		back.release()
	}
	return roundTrips(given, ping, pong), nil
}

// channels measures a round trip of a number over two channels.
func channels(given settings) (sample, error) {
	there, back := make(chan int, 1), make(chan int, 1)
	number := 0
	ping := func() {
		there <- number
		number = <-back
	}
	pong := func() {
		back <- <-there + 1
	}
	return roundTrips(given, ping, pong), nil
}

// line is an end of a conversation over two pipes.
type line struct{ from, to *os.File }

// send writes a number to the other end.
func (l line) send(number uint64) error {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], number)
	_, err := l.to.Write(bytes[:])
	return err
}

// receive blocks until the other end has written a number.
func (l line) receive() (uint64, error) {
	var bytes [8]byte
	_, err := io.ReadFull(l.from, bytes[:])
	return binary.LittleEndian.Uint64(bytes[:]), err
}

// must ends the repetition where a pipe fails.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// pipes measures a round trip of a number over two pipes.
func pipes(given settings) (sample, error) {
	nearReader, farWriter, err := os.Pipe()
	if err != nil {
		return sample{}, err
	}
	farReader, nearWriter, err := os.Pipe()
	if err != nil {
		return sample{}, err
	}
	near, far := line{nearReader, nearWriter}, line{farReader, farWriter}
	number := uint64(0)
	ping := func() {
		must(near.send(number))
		number, err = near.receive()
		must(err)
	}
	pong := func() {
		got, err := far.receive()
		must(err)
		must(far.send(got + 1))
	}
	return roundTrips(given, ping, pong), nil
}

// condvars measures two turns on a flag.
func condvars(given settings) (sample, error) {
	shared := turns{changed: sync.NewCond(new(sync.Mutex))}
	ping := func() { shared.take(false) }
	pong := func() { shared.take(true) }
	return roundTrips(given, ping, pong), nil
}

// roundTrips measures one goroutine's ping and another's pong.
func roundTrips(given settings, ping, pong func()) sample {
	return calibrated(given, 1000, func(operations int) sample {
		var partner sync.WaitGroup
		partner.Add(1)
		go func() {
			for done := 0; done < operations+2; done++ {
				pong()
			}
			partner.Done()
		}()
		ping() // the partner has started after the second
		ping()
		watch := start()
		for done := 0; done < operations; done++ {
			ping()
		}
		time := watch.stop()
		partner.Wait()
		return time.per(operations)
	})
}
