// mutex: locking and unlocking what nobody else wants.

package main

import "sync"

// mutexes measures an uncontended lock and unlock.
func mutexes(given settings) (sample, error) {
	var mutex sync.Mutex
	return calibrated(given, 10000, func(operations int) sample {
		watch := start()
		for done := 0; done < operations; done++ {
			mutex.Lock()
			mutex.Unlock()
		}
		return watch.stop().per(operations)
	}), nil
}
