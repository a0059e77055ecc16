// skynet: a tree of goroutines, ten children to each, which add up the numbers
// of the leaves.
//
// Children hand their sums up in a channel with room for all of them, as the
// well-known Go version of this benchmark does, so that no child waits for its
// parent.

package main

import "fmt"

// fanOut is how many children an inner node has.
const fanOut = 10

// skynets measures the life of a node.
func skynets(given settings) (sample, error) {
	leaves := given.count("leaves")
	nodes := 1
	for level := leaves; level > 1; level /= fanOut {
		if level%fanOut != 0 {
			return sample{}, usageError{fmt.Errorf("%d leaves make no full tree", leaves)}
		}
		nodes += level
	}
	root := make(chan int, 1)
	right := true
	seen := calibrated(given, nodes, func(operations int) sample {
		trees := (operations + nodes - 1) / nodes
		watch := start()
		for grown := 0; grown < trees; grown++ {
			go node(0, leaves, root)
			right = <-root == leaves*(leaves-1)/2 && right
		}
		return watch.stop().per(trees * nodes)
	})
	if !right {
		return sample{}, fmt.Errorf("the sum of %d leaves is wrong", leaves)
	}
	return seen, nil
}

// node is a leaf with a number, or the parent of ten that have those from it on.
func node(number, leaves int, parent chan<- int) {
	if leaves == 1 {
		parent <- number
		return
	}
	sums := make(chan int, fanOut)
	share := leaves / fanOut
	for child := 0; child < fanOut; child++ {
		go node(number+child*share, share, sums)
	}
	sum := 0
	for child := 0; child < fanOut; child++ {
		sum += <-sums
	}
	parent <- sum
}
