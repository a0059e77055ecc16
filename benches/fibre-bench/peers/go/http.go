// The one answer every server gives, and the one way every server finds the
// end of a request: as in the harness's other servers.
//
// A request is whatever ends with an empty line. The scanner keeps its place
// between two reads as a count of matched bytes, so nobody has to keep the bytes
// of an unfinished request. What special requests ask for is in special.go.

package main

import "bytes"

// headEnd are the bytes that end a request.
const headEnd = "\r\n\r\n"

// answer is what every request gets, 64 bytes long.
const answer = "HTTP/1.1 200 OK\r\nServer: hi\r\nContent-Length: 13\r\n\r\nHello, World!"

// answersPerWrite is how many answers leave together when a client pipelines its
// requests.
const answersPerWrite = 16

// answers is a run of answers, to send as many as one read found requests.
var answers = bytes.Repeat([]byte(answer), answersPerWrite)

// scanner finds the ends of requests in a stream that arrives in pieces.
type scanner struct {
	// matched is how many bytes of headEnd the stream ended with so far.
	matched int
	// beginning is how the current head began.
	beginning opening
}

// feed takes the next bytes of the stream, does what special requests that end
// in them ask for, and returns how many requests end in them.
func (s *scanner) feed(rest []byte) int {
	ended := 0
	s.beginning.extend(rest)
	for {
		length := s.endOf(rest)
		if length < 0 {
			return ended
		}
		ended++
		s.beginning.finish().perform()
		rest = rest[length:]
		s.beginning.extend(rest)
	}
}

// endOf is how many bytes the next request takes up to its end; -1 if all of
// these belong to one that goes on.
func (s *scanner) endOf(stream []byte) int {
	for place := 0; place < len(stream); place++ {
		if s.matched == 0 {
			first := bytes.IndexByte(stream[place:], headEnd[0])
			if first < 0 {
				return -1
			}
			place += first
		}
		if s.step(stream[place]) {
			return place + 1
		}
	}
	return -1
}

// step takes one byte and tells whether it ends a request.
func (s *scanner) step(next byte) bool {
	switch {
	case next == headEnd[s.matched]:
		s.matched = (s.matched + 1) % len(headEnd)
		return s.matched == 0
	case next == headEnd[0]:
		s.matched = 1
	default:
		s.matched = 0
	}
	return false
}
