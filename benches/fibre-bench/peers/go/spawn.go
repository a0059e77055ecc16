// spawn: making a goroutine that does nothing, and waiting for its end.
//
// A goroutine cannot be joined. What a program uses instead is a channel or a
// WaitGroup, and each case has the cheaper of the two: for one goroutine the
// channel, for a batch the WaitGroup, which wakes the waiter once.

package main

import "sync"

// spawns measures the life of a goroutine.
func spawns(given settings) (sample, error) {
	batch := given.count("batch")
	fewest := 100
	if batch > fewest {
		fewest = batch
	}
	return calibrated(given, fewest, func(operations int) sample {
		if batch == 1 {
			return spawnSingly(operations)
		}
		return spawnBatches(batch, (operations+batch-1)/batch)
	}), nil
}

// spawnSingly waits for each goroutine before it makes the next.
func spawnSingly(operations int) sample {
	ended := make(chan struct{}, 1)
	end := func() { ended <- struct{}{} }
	watch := start()
	for made := 0; made < operations; made++ {
		go end()
		<-ended
	}
	return watch.stop().per(operations)
}

// spawnBatches makes so many batches, one after the other.
func spawnBatches(batch, batches int) sample {
	var alive sync.WaitGroup
	end := func() { alive.Done() }
	watch := start()
	for made := 0; made < batches; made++ {
		alive.Add(batch)
		for i := 0; i < batch; i++ {
			go end()
		}
		alive.Wait()
	}
	return watch.stop().per(batch * batches)
}
