// stream: numbers that go through one channel, from some goroutines to others.
//
// One operation is a number that is sent and received. Go has no channel
// without bound.

package main

import "sync"

// streamKeys are the settings of stream.
var streamKeys = []key{{"senders", 1, 1}, {"receivers", 1, 1}, {"room", 128, 0}}

// streams measures a number's way through a channel.
func streams(given settings) (sample, error) {
	senders, receivers := given.count("senders"), given.count("receivers")
	return calibrated(given, 1000, func(operations int) sample {
		share := (operations + senders - 1) / senders
		channel := make(chan int, given.count("room"))
		counts := make(chan int, receivers)
		var sending sync.WaitGroup
		sending.Add(senders)
		watch := start()
		for i := 0; i < receivers; i++ {
			go func() {
				count := 0
				for range channel {
					count++
				}
				counts <- count
			}()
		}
		for i := 0; i < senders; i++ {
			go func() {
				for number := 0; number < share; number++ {
					channel <- number
				}
				sending.Done()
			}()
		}
		sending.Wait()
		close(channel)
		received := 0
		for i := 0; i < receivers; i++ {
			received += <-counts
		}
		time := watch.stop()
		if received != share*senders {
			panic("numbers were lost")
		}
		return time.per(received)
	}), nil
}
