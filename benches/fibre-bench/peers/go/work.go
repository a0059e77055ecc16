// work: what stands for a program's own computing, and what a unit of it costs.
//
// A unit is one step of a linear congruential generator that depends on the
// step before, so that no compiler and no processor can do two at once: the same
// in every peer. What comes out goes into the next piece of work and at last
// into a variable that others could read, and is therefore really computed.

package main

import "sync/atomic"

// result is where the outcome of all work ends.
var result uint64

// work computes for so many units, from x on.
func work(units int, x uint64) uint64 {
	for ; units > 0; units-- {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// works measures a unit of work.
func works(given settings) (sample, error) {
	units := given.count("units")
	return calibrated(given, 10*units, func(operations int) sample {
		pieces := (operations + units - 1) / units
		x := atomic.LoadUint64(&result)
		watch := start()
		for done := 0; done < pieces; done++ {
			x = work(units, x)
		}
		time := watch.stop()
		atomic.StoreUint64(&result, x)
		return time.per(units * pieces)
	}), nil
}
