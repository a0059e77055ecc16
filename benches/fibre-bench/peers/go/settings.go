// The settings of a workload: key=value on the command line.

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// key is a setting that a workload takes.
type key struct {
	// name stands before the equals sign.
	name string
	// value is what it has unless given.
	value float64
	// least is the smallest value that makes sense.
	least float64
}

// commonKeys are taken by every workload. One of the same name among the
// workload's own replaces them.
var commonKeys = []key{{"processors", 1, 1}, {"seconds", 0.1, 0}}

// settings has the value of each key.
type settings map[string]float64

// parse reads the arguments; a key that the workload does not take is a wrong
// call.
func parse(own []key, arguments []string) (settings, error) {
	given, least, repeated := settings{}, map[string]float64{}, map[string]bool{}
	for _, taken := range append(commonKeys[:len(commonKeys):len(commonKeys)], own...) {
		given[taken.name] = taken.value
		least[taken.name] = taken.least
	}
	for _, argument := range arguments {
		name, text, found := strings.Cut(argument, "=")
		if _, known := given[name]; !found || !known || repeated[name] {
			return nil, usageError{fmt.Errorf("there is no key for %q, or it is given twice", argument)}
		}
		repeated[name] = true
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !sensible(name, value, least[name]) {
			return nil, usageError{fmt.Errorf("%q is no value for %s", text, name)}
		}
		given[name] = value
	}
	return given, nil
}

// sensible tells whether a key may have a value: only seconds have fractions,
// and no count is larger than 32 bits.
func sensible(name string, value, least float64) bool {
	whole := name == "seconds" || value == math.Trunc(value)
	return whole && value >= least && value <= math.MaxInt32
}

// count is the value of a key that counts something.
func (s settings) count(name string) int {
	return int(s[name])
}

// seconds is how long the repetition shall last.
func (s settings) seconds() float64 {
	return s["seconds"]
}
