// What the figures rest on: requests are found however they are cut, fairness
// is computed right, and only a long enough round counts.

package main

import (
	"flag"
	"math"
	"strings"
	"testing"
	"time"
)

// request is what a client sends.
const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

func TestARequestIsFoundHoweverItIsCut(t *testing.T) {
	for cut := range request {
		var requests scanner
		found := requests.feed([]byte(request[:cut])) + requests.feed([]byte(request[cut:]))
		if found != 1 {
			t.Errorf("cut after %d bytes: %d requests", cut, found)
		}
	}
}

func TestPipelinedRequestsAreCounted(t *testing.T) {
	var requests scanner
	if found := requests.feed([]byte(strings.Repeat(request, 20))); found != 20 {
		t.Errorf("%d requests", found)
	}
	if len(answer) != 64 || len(answers) != answersPerWrite*64 {
		t.Errorf("an answer of %d bytes, %d together", len(answer), len(answers))
	}
}

func TestAFalseStartIsNoEnd(t *testing.T) {
	var requests scanner
	if found := requests.feed([]byte("a\r\n\rb\r\r\n")); found != 0 {
		t.Errorf("%d requests", found)
	}
	if found := requests.feed([]byte("\r\n")); found != 1 {
		t.Errorf("%d requests", found)
	}
}

func TestSpecialRequestsAreToldHoweverTheyAreCut(t *testing.T) {
	for head, asked := range map[string]chore{
		"GET /spin?ms=1500 HTTP/1.1":    {spin: 1500 * time.Millisecond},
		"GET /spin?us=250 HTTP/1.1":     {spin: 250 * time.Microsecond},
		"GET /block?ms=999999 HTTP/1.1": {block: longest},
		"GET /static?ms=3 HTTP/1.1":     {},
		"GET /s":                        {},
		"GET / HTTP/1.1":                {},
	} {
		for cut := range head {
			var begun opening
			begun.extend([]byte(head[:cut]))
			begun.extend([]byte(head[cut:]))
			if found := begun.finish(); found != asked {
				t.Errorf("%s, cut after %d: %v", head, cut, found)
			}
		}
	}
}

func TestChoresTakeAsLongAsAsked(t *testing.T) {
	for _, asked := range []chore{{spin: 5 * time.Millisecond}, {block: 5 * time.Millisecond}} {
		began := time.Now()
		asked.perform()
		if time.Since(began) < 5*time.Millisecond {
			t.Errorf("%v took %v", asked, time.Since(began))
		}
	}
}

func TestTheAddressMayStandAnywhere(t *testing.T) {
	for _, line := range []string{"--echo 1.1.1.1:1", "1.1.1.1:1 -processors=2 --echo", "1.1.1.1:1"} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.Bool("echo", false, "")
		flags.Int("processors", 1, "")
		address, err := parseServer(flags, strings.Fields(line))
		if err != nil || address != "1.1.1.1:1" {
			t.Errorf("%s: %q, %v", line, address, err)
		}
	}
}

func TestFairnessOfOneAmongFour(t *testing.T) {
	seen, err := evaluate(spent{cpu: 40, wall: 80}, []float64{0, 8, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	if seen.Operations != 8 || seen.CPU != 5 || seen.Wall != 10 {
		t.Errorf("%+v", seen)
	}
	if seen.Values["jain"] != 0.25 || math.Abs(seen.Values["cv"]-math.Sqrt(3)) > 1e-9 {
		t.Errorf("%v", seen.Values)
	}
	if _, err := evaluate(spent{}, []float64{0, 0}); err == nil {
		t.Error("a run without iterations has no figures")
	}
}

func TestADisturbedShortRoundDoesNotCount(t *testing.T) {
	rounds := 0
	seen := calibrated(settings{"seconds": 0.001}, 10, func(operations int) sample {
		rounds++
		if rounds == 2 {
			return sample{Operations: operations, CPU: 5e4}
		}
		return sample{Operations: operations, CPU: 10}
	})
	if seen.CPU != 10 || seen.Operations < 100000 {
		t.Errorf("%+v after %d rounds", seen, rounds)
	}
}

func TestARoundFarTooLongEndsARepetition(t *testing.T) {
	seen := calibrated(settings{"seconds": 0.001}, 10, func(operations int) sample {
		if operations > 10 {
			return sample{Operations: operations, CPU: 1e6}
		}
		return sample{Operations: operations, CPU: 10}
	})
	if seen.CPU != 1e6 || seen.Operations != 80 {
		t.Errorf("%+v", seen)
	}
}

func TestOnlySensibleSettingsAreTaken(t *testing.T) {
	own := []key{{"fibres", 2, 1}, {"seconds", 0.5, 0}}
	given, err := parse(own, []string{"fibres=7", "processors=2"})
	if err != nil || given.count("fibres") != 7 || given.seconds() != 0.5 {
		t.Errorf("%v, %v", given, err)
	}
	for _, wrong := range []string{"batch=1", "fibres", "fibres=0", "fibres=1.5", "seconds=NaN", "fibres=3 fibres=3"} {
		if _, err := parse(own, strings.Fields(wrong)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func TestFibonacciNumbersAreTheSameInEachWay(t *testing.T) {
	for n := 1; n < 16; n++ {
		if fibParallel(n, 3) != fibIterated(n) || fibPlain(n) != fibIterated(n) {
			t.Errorf("fib(%d)", n)
		}
	}
	if fibSplits(5, 4) != 1 || fibSplits(6, 4) != 2 {
		t.Error("splits")
	}
}

func TestTheCounterCountsIncrementsOnly(t *testing.T) {
	var counted counter
	for _, request := range []byte{1, 0, 1} {
		if _, err := counted.answer(request); err != nil {
			t.Error(err)
		}
	}
	if _, err := counted.answer(2); err == nil || counted.read() != 2 {
		t.Errorf("%v, %d", err, counted.read())
	}
}
