// yield: goroutines that do nothing but let each other run.
//
// All have started and wait at a gate before the clock starts. Gosched puts a
// goroutine at the end of the one queue that all processors share.

package main

import (
	"runtime"
	"sync"
)

// yields measures a yield.
func yields(given settings) (sample, error) {
	fibres := given.count("fibres")
	return calibrated(given, 100*fibres, func(operations int) sample {
		return yieldRound(fibres, (operations+fibres-1)/fibres)
	}), nil
}

// yieldRound lets each of the goroutines yield so many times.
func yieldRound(fibres, each int) sample {
	var started, ended sync.WaitGroup
	started.Add(fibres)
	ended.Add(fibres)
	gate := make(chan struct{})
	for i := 0; i < fibres; i++ {
		go func() {
			started.Done()
			<-gate
			for yielded := 0; yielded < each; yielded++ {
				runtime.Gosched()
			}
			ended.Done()
		}()
	}
	started.Wait()
	watch := start()
	close(gate)
	ended.Wait()
	return watch.stop().per(fibres * each)
}
