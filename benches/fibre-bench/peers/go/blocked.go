// blocked: many goroutines which block, what they cost and what they occupy.
//
// Stacks are Go's own: 2 KiB each, since none of these ever needs more, and no
// guard pages. All block on one semaphore. The time in which the process looks
// at itself does not count.

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"sync"
)

// blockeds measures the life of a goroutine that blocks once. Of several passes
// the cheapest counts; what is occupied is seen in the first one.
func blockeds(given settings) (sample, error) {
	best, err := blockedPass(given)
	if err != nil {
		return sample{}, err
	}
	best.Values["first_ns"] = best.CPU
	for pass := 1; pass < given.count("passes"); pass++ {
		again, err := blockedPass(given)
		if err != nil {
			return sample{}, err
		}
		best.CPU = math.Min(best.CPU, again.CPU)
		best.Wall = math.Min(best.Wall, again.Wall)
	}
	return best, nil
}

// blockedPass makes, blocks, wakes and ends them all once.
func blockedPass(given settings) (sample, error) {
	fibres := given.count("fibres")
	before, err := resident()
	if err != nil {
		return sample{}, err
	}
	var announced, ended sync.WaitGroup
	shared := emptySemaphore()
	watch := start()
	announced.Add(fibres)
	ended.Add(fibres)
	for i := 0; i < fibres; i++ {
		go func() {
			announced.Done()
			shared.acquire()
			ended.Done()
		}()
	}
	announced.Wait()
	time := watch.stop()

	values, err := occupied(before, fibres)
	if err != nil {
		return sample{}, err
	}

	watch = start()
	for i := 0; i < fibres; i++ {
		shared.release()
	}
	ended.Wait()
	seen := time.plus(watch.stop()).per(fibres)
	seen.Values = values
	return seen, nil
}

// occupied is what the goroutines have made of the process's memory.
func occupied(before, fibres int) (map[string]float64, error) {
	now, err := resident()
	if err != nil {
		return nil, err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		"rss_bytes": float64(now-before) / float64(fibres),
		"mappings":  float64(bytes.Count(maps, []byte("\n"))),
	}, nil
}

// resident is the memory of this process that is in RAM, in bytes.
func resident() (int, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0, fmt.Errorf("reading /proc/self/statm: %w", err)
	}
	return pages * os.Getpagesize(), nil
}
