// sleep: how much later than asked a goroutine of an idle process wakes.

package main

import (
	"sort"
	"time"
)

// sleeps measures a sleep.
func sleeps(given settings) (sample, error) {
	asked := time.Duration(given.count("micros")) * time.Microsecond
	over := make([]float64, given.count("count"))
	watch := start()
	for i := range over {
		before := time.Now()
		time.Sleep(asked)
		over[i] = float64(time.Since(before)-asked) / float64(time.Microsecond)
	}
	seen := watch.stop().per(len(over))
	sort.Float64s(over)
	seen.Values = map[string]float64{
		"over_us_median": over[len(over)/2],
		"over_us_max":    over[len(over)-1],
	}
	return seen, nil
}
