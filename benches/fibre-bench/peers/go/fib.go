// fib: Fibonacci numbers by calls in parallel down to a grain (Program 1 of the
// paper on Eve). Both halves are goroutines, as they are tasks in the paper.

package main

import (
	"fmt"
	"sync"
)

// fibs measures a call that splits.
func fibs(given settings) (sample, error) {
	n, grain := given.count("n"), given.count("grain")
	splits := fibSplits(n, grain)
	if splits == 0 {
		splits = 1
	}
	right := true
	expected := fibIterated(n)
	seen := calibrated(given, splits, func(operations int) sample {
		runs := (operations + splits - 1) / splits
		watch := start()
		for run := 0; run < runs; run++ {
			right = fibParallel(n, grain) == expected && right
		}
		return watch.stop().per(runs * splits)
	})
	if !right {
		return sample{}, fmt.Errorf("fib(%d) is wrong", n)
	}
	return seen, nil
}

// fibFine tells whether no call in parallel is worth its while.
func fibFine(n, grain int) bool {
	return n <= grain
}

// fibSplits is how many calls split into two.
func fibSplits(n, grain int) int {
	if fibFine(n, grain) {
		return 0
	}
	return 1 + fibSplits(n-1, grain) + fibSplits(n-2, grain)
}

// fibParallel computes the number with a goroutine for each half.
func fibParallel(n, grain int) uint64 {
	if fibFine(n, grain) {
		return fibPlain(n)
	}
	var one, other uint64
	var halves sync.WaitGroup
	halves.Add(2)
	go func() {
		defer halves.Done()
		one = fibParallel(n-1, grain)
	}()
	go func() {
		defer halves.Done()
		other = fibParallel(n-2, grain)
	}()
	halves.Wait()
	return one + other
}

// fibPlain computes the number by calls one after the other.
func fibPlain(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return fibPlain(n-1) + fibPlain(n-2)
}

// fibIterated computes the number in the cheapest way, to check the others.
func fibIterated(n int) uint64 {
	this, next := uint64(0), uint64(1)
	for ; n > 0; n-- {
		this, next = next, this+next
	}
	return this
}
