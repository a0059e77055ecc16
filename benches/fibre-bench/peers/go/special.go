// Some requests are special: `GET /spin?ms=N` burns CPU time in the handler,
// `GET /spin?us=N` does for so many microseconds, and `GET /block?ms=N` blocks its
// kernel thread, to see how long that delays others.
//
// An ordinary request pays one comparison for them: of its sixth byte, the first
// one after the slash. Only a head that has an `s` or a `b` there, or that is cut
// before it, has its first bytes copied aside.

package main

import (
	"strings"
	"syscall"
	"time"
)

// longest is what a request may ask for at most.
const longest = time.Minute

// telling is where the byte lies that tells most requests from special ones.
const telling = 5

// ordinary is a length of an opening that says: not special, look no further.
const ordinary = -1

// opening is the first bytes of a request head that may be a special one.
type opening struct {
	// bytes has room for the longer prefix and a number of six digits.
	bytes [20]byte
	// length is how many were copied, or ordinary if none need be.
	length int
}

// extend takes what follows in the stream, at least up to the end of the head.
func (o *opening) extend(stream []byte) {
	if o.length == ordinary || len(stream) == 0 {
		return
	}
	if o.length == 0 && len(stream) > telling && stream[telling] != 's' && stream[telling] != 'b' {
		o.length = ordinary
		return
	}
	o.length += copy(o.bytes[o.length:], stream)
}

// finish makes ready for the next head and returns what this one asks for.
func (o *opening) finish() chore {
	length := o.length
	o.length = 0
	if length == ordinary {
		return chore{}
	}
	return choreIn(string(o.bytes[:length]))
}

// chore is what a request asks its handler to do before it is answered.
type chore struct {
	// spin is for how long to use the CPU.
	spin time.Duration
	// block is for how long to block the kernel thread.
	block time.Duration
}

// choreIn is what a request that begins so asks for: nothing, mostly.
func choreIn(head string) chore {
	switch {
	case strings.HasPrefix(head, "GET /spin?ms="):
		return chore{spin: number(head[len("GET /spin?ms="):], time.Millisecond)}
	case strings.HasPrefix(head, "GET /spin?us="):
		return chore{spin: number(head[len("GET /spin?us="):], time.Microsecond)}
	case strings.HasPrefix(head, "GET /block?ms="):
		return chore{block: number(head[len("GET /block?ms="):], time.Millisecond)}
	}
	return chore{}
}

// number reads the digits with which a text begins, as so many of a unit.
func number(text string, unit time.Duration) time.Duration {
	number := time.Duration(0)
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			break
		}
		number = number*10 + time.Duration(digit-'0')
	}
	if number > longest/unit {
		return longest
	}
	return number * unit
}

// perform does it. A sleep of Go's own would only suspend the goroutine, so the
// blocking is a system call; signals of the runtime interrupt it.
func (c chore) perform() {
	for began := time.Now(); c.spin > 0 && time.Since(began) < c.spin; {
	}
	left := syscall.NsecToTimespec(c.block.Nanoseconds())
	for c.block > 0 && syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}
