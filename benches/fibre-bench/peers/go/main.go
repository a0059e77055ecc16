// Go, as a peer: one program with the harness's workloads and a web server.
//
// Without arguments it prints the names of its workloads. `peer-go WORKLOAD
// key=value…` runs one repetition of a workload and prints it as one line of
// JSON. `peer-go server` serves (server.go), and `peer-go served` too (served.go).
// A wrong call ends with exit code 2, a failure with 1.
//
// Goroutines stand for fibres and GOMAXPROCS for the number of processors. The
// garbage collector is left as it is by default: it is part of what a Go
// program pays.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// workload is one thing this peer can be measured at.
type workload struct {
	// name is what the harness asks for.
	name string
	// keys are the settings it takes beside the common ones.
	keys []key
	// run does one repetition.
	run func(settings) (sample, error)
}

// workloads are all there are, in the order in which they are listed.
var workloads = []workload{
	{"yield", []key{{"fibres", 2, 1}}, yields},
	{"spawn", []key{{"batch", 1, 1}}, spawns},
	{"semaphore", nil, semaphores},
	{"condvar", nil, condvars},
	{"channel", nil, channels},
	{"stream", streamKeys, streams},
	{"pipe", nil, pipes},
	{"mutex", nil, mutexes},
	{"contend", contendKeys, contends},
	{"wait", waitKeys, waits},
	{"work", []key{{"units", 1000, 1}}, works},
	{"blocked", []key{{"fibres", 20000, 1}, {"passes", 1, 1}}, blockeds},
	{"skynet", []key{{"leaves", 100000, 1}}, skynets},
	{"fib", []key{{"n", 35, 1}, {"grain", 18, 1}}, fibs},
	{"sleep", []key{{"micros", 1000, 1}, {"count", 200, 1}}, sleeps},
}

// usageError is a wrong call of this program.
type usageError struct{ error }

func main() {
	err := perform(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "peer-go:", err)
	if errors.As(err, &usageError{}) {
		os.Exit(2)
	}
	os.Exit(1)
}

// perform does what the arguments ask for.
func perform(arguments []string) error {
	if len(arguments) == 0 {
		for _, offered := range workloads {
			fmt.Println(offered.name)
		}
		return nil
	}
	if arguments[0] == "server" {
		return serve(arguments[1:])
	}
	if arguments[0] == "served" {
		return served(arguments[1:])
	}
	for _, offered := range workloads {
		if offered.name == arguments[0] {
			return offered.measure(arguments[1:])
		}
	}
	return usageError{fmt.Errorf("there is no workload %q", arguments[0])}
}

// measure runs one repetition and prints it.
func (w workload) measure(arguments []string) error {
	given, err := parse(w.keys, arguments)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(given.count("processors"))
	seen, err := w.run(given)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}
