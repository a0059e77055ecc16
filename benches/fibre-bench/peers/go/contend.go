// contend: goroutines that compute, lock one of several mutexes at random,
// compute under it and unlock it, until they are told to stop.
//
// A word tells all of them in which phase they are. Only iterations that end
// while it says counting are counted, each goroutine in a variable of its own on
// its own stack: what happens before (the warm-up) and after is left out, and
// counting shares no cache line. The main goroutine sleeps and changes the word.

package main

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// The phases of a run.
const (
	warming uint32 = iota
	counting
	stopped
)

// warmUp is the length of the warm-up, as a share of the counted time.
const warmUp = 0.1

// contendKeys are the settings: how many goroutines and mutexes, and units of
// work under a mutex and without.
var contendKeys = []key{
	{"threads", 8, 1}, {"locks", 1, 1}, {"held", 0, 0}, {"free", 0, 0}, {"seconds", 0.5, 0},
}

// paddedMutex is a mutex with a cache line of its own.
type paddedMutex struct {
	sync.Mutex
	_ [56]byte
}

// contention is what the goroutines of a run share.
type contention struct {
	// phase is the word that tells what to do.
	phase uint32
	// locks are what they lock.
	locks []paddedMutex
	// held is how many units of work are done under a mutex.
	held int
	// free is how many are done without.
	free int
}

// contends measures the throughput of all and how evenly it is shared.
func contends(given settings) (sample, error) {
	shared := &contention{
		locks: make([]paddedMutex, given.count("locks")),
		held:  given.count("held"),
		free:  given.count("free"),
	}
	counts := make([]float64, given.count("threads"))
	var ended sync.WaitGroup
	ended.Add(len(counts))
	for i := range counts {
		go func(index int) {
			counts[index] = shared.iterate(uint64(index))
			ended.Done()
		}(i)
	}
	time := shared.direct(given.seconds())
	ended.Wait()
	return evaluate(time, counts)
}

// direct leads the goroutines through the phases and returns what the counted
// one took.
func (c *contention) direct(seconds float64) spent {
	length := time.Duration(seconds * float64(time.Second))
	time.Sleep(time.Duration(warmUp * float64(length)))
	watch := start()
	atomic.StoreUint32(&c.phase, counting)
	time.Sleep(length)
	atomic.StoreUint32(&c.phase, stopped)
	return watch.stop()
}

// iterate is the life of one goroutine; it returns its count.
func (c *contention) iterate(index uint64) float64 {
	random := (index + 1) * 0x9e3779b97f4a7c15
	count := 0
	x := index
	for phase := atomic.LoadUint32(&c.phase); phase != stopped; {
		x = work(c.free, x)
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		lock := &c.locks[(random>>32)*uint64(len(c.locks))>>32]
		lock.Lock()
		x = work(c.held, x)
		lock.Unlock()
		phase = atomic.LoadUint32(&c.phase)
		if phase == counting {
			count++
		}
	}
	atomic.AddUint64(&result, x)
	return float64(count)
}

// evaluate makes a sample of all counts, with Jain's fairness index and the
// coefficient of variation.
func evaluate(time spent, counts []float64) (sample, error) {
	sum, squares := 0.0, 0.0
	for _, count := range counts {
		sum += count
		squares += count * count
	}
	if sum == 0 {
		return sample{}, errors.New("not one iteration ended in time")
	}
	jain := sum * sum / (float64(len(counts)) * squares)
	seen := time.per(int(sum))
	seen.Values = map[string]float64{
		"jain": jain,
		"cv":   math.Sqrt(math.Max(1/jain-1, 0)),
	}
	return seen, nil
}
