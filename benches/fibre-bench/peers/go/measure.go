// The clocks, what is read from them, and how long a repetition becomes.
//
// CPU time is that of the whole process, user and system, from the kernel's
// clock for it. Rounds of more and more operations warm the runtime up; the
// last one, which is long enough, counts.

package main

import (
	"math"
	"syscall"
	"time"
	"unsafe"
)

// processClock is CLOCK_PROCESS_CPUTIME_ID, which the syscall package lacks.
const processClock = 2

// farTooLong is how many times the length that was asked for ends the rounds
// in any case.
const farTooLong = 10

// sample is what one repetition measured, as the harness reads it.
type sample struct {
	// Operations is how many were done.
	Operations int `json:"operations"`
	// CPU is the CPU time of one of them in nanoseconds.
	CPU float64 `json:"cpu_ns"`
	// Wall is the time on the wall for one of them in nanoseconds.
	Wall float64 `json:"wall_ns"`
	// Values are other readings of the workload, by name.
	Values map[string]float64 `json:"values,omitempty"`
}

// spent is time that was used.
type spent struct {
	// cpu is CPU time of the whole process.
	cpu time.Duration
	// wall is time on the wall.
	wall time.Duration
}

// stopwatch is a measurement that has begun.
type stopwatch struct {
	// cpu is the CPU time used before.
	cpu time.Duration
	// wall is when it began.
	wall time.Time
}

// start begins a measurement.
func start() stopwatch {
	return stopwatch{cpuTime(), time.Now()}
}

// stop ends a measurement.
func (w stopwatch) stop() spent {
	return spent{cpuTime() - w.cpu, time.Since(w.wall)}
}

// plus adds two measurements, between which something else was done.
func (s spent) plus(other spent) spent {
	return spent{s.cpu + other.cpu, s.wall + other.wall}
}

// per divides the time among operations.
func (s spent) per(operations int) sample {
	return sample{
		Operations: operations,
		CPU:        float64(s.cpu) / float64(operations),
		Wall:       float64(s.wall) / float64(operations),
	}
}

// cpuTime is the CPU time this process has used.
func cpuTime() time.Duration {
	var used syscall.Timespec
	// The pointer is valid for the duration of the call, which does not block.
	_, _, errno := syscall.RawSyscall(
		syscall.SYS_CLOCK_GETTIME, processClock, uintptr(unsafe.Pointer(&used)), 0)
	if errno != 0 {
		panic("the process's own CPU clock cannot be read: " + errno.Error())
	}
	return time.Duration(used.Nano())
}

// calibrated repeats rounds of more and more operations, beginning with the
// fewest, until one takes as long as asked.
//
// A round is judged by the fastest so far: a disturbance can make a round of
// few operations long, but not one of many short. A round that took far longer
// than asked is no disturbance but what the runtime does, and counts too.
func calibrated(asked settings, fewest int, round func(operations int) sample) sample {
	operations := fewest
	fastest := math.Inf(1)
	for {
		seen := round(operations)
		fastest = math.Min(fastest, seen.CPU)
		length := fastest * float64(seen.Operations) / 1e9
		took := seen.CPU * float64(seen.Operations) / 1e9
		if length >= asked.seconds() || took >= farTooLong*asked.seconds() {
			return seen
		}
		// Far from the end grow fast; near it aim a little beyond.
		growth := math.Min(asked.seconds()*1.1/length, 8)
		operations = int(math.Ceil(float64(operations) * growth))
	}
}
