// wait: how long one goroutine waits for a mutex that many others take again and
// again.
//
// The others, the crowd, do no work without the mutex, and can be told to yield
// with it at every so many iterations. The one, the guest, sleeps, locks, and looks
// at the clock before and after. What it still waits for at the end counts too. The
// longest gap is that between two acquisitions, with the sleep in it.

package main

import (
	"errors"
	"math"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// waitKeys are the settings: how many make the crowd, units of work under the
// mutex, after how many iterations one of the crowd yields with it (0: never), and
// for how many microseconds the guest sleeps.
var waitKeys = []key{
	{"crowd", 50, 1}, {"held", 100, 0}, {"yields", 0, 0}, {"pause", 100, 0}, {"seconds", 1, 0},
}

// waits measures how long the guest waits, and what the crowd does meanwhile.
func waits(given settings) (sample, error) {
	shared := &contention{locks: make([]paddedMutex, 1), held: given.count("held")}
	counts := make([]float64, given.count("crowd"))
	pause := time.Duration(given.count("pause")) * time.Microsecond
	var guest visits
	sent := time.Now()
	var ended sync.WaitGroup
	ended.Add(1 + len(counts))
	go func() {
		guest = shared.visit(pause, sent)
		ended.Done()
	}()
	for i := range counts {
		go func(index int) {
			counts[index] = shared.barge(uint64(index), given.count("yields"))
			ended.Done()
		}(i)
	}
	time := shared.direct(given.seconds())
	ended.Wait()
	seen, err := evaluate(time, counts)
	if err != nil {
		return sample{}, err
	}
	return seen, guest.addTo(&seen)
}

// barge is the life of one of the crowd; it returns its count.
func (c *contention) barge(index uint64, yields int) float64 {
	lock := &c.locks[0]
	count := 0
	x := index
	phase := atomic.LoadUint32(&c.phase)
	for iteration := 1; phase != stopped; iteration++ {
		lock.Lock()
		x = work(c.held, x)
		if yields > 0 && iteration%yields == 0 {
			runtime.Gosched()
		}
		lock.Unlock()
		phase = atomic.LoadUint32(&c.phase)
		if phase == counting {
			count++
		}
	}
	atomic.AddUint64(&result, x)
	return float64(count)
}

// visits is what the guest has seen.
type visits struct {
	// waits is how long it waited each time.
	waits []time.Duration
	// gap is the longest time between two acquisitions.
	gap time.Duration
}

// visit is the life of a guest that was sent at the time last; it returns what
// the guest has seen, at least one visit.
func (c *contention) visit(pause time.Duration, last time.Time) visits {
	var seen visits
	lock := &c.locks[0]
	for {
		time.Sleep(pause)
		asked := time.Now()
		lock.Lock()
		now := time.Now()
		seen.waits = append(seen.waits, now.Sub(asked))
		if now.Sub(last) > seen.gap {
			seen.gap = now.Sub(last)
		}
		last = now
		lock.Unlock()
		if atomic.LoadUint32(&c.phase) == stopped {
			return seen
		}
	}
}

// addTo adds what the guest has seen to a sample.
func (v visits) addTo(seen *sample) error {
	if len(v.waits) == 0 {
		return errors.New("the guest never came")
	}
	sort.Slice(v.waits, func(a, b int) bool { return v.waits[a] < v.waits[b] })
	micros := func(length time.Duration) float64 { return float64(length) / float64(time.Microsecond) }
	wait := func(share float64) float64 {
		place := int(math.Max(math.Ceil(share*float64(len(v.waits))), 1))
		return micros(v.waits[place-1])
	}
	seen.Values["acquired"] = float64(len(v.waits))
	seen.Values["gap_us_max"] = micros(v.gap)
	seen.Values["wait_us_median"] = wait(0.5)
	seen.Values["wait_us_p99"] = wait(0.99)
	seen.Values["wait_us_max"] = wait(1)
	return nil
}
