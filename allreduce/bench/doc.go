// Package bench runs experiments that can be believed: one setting varied at a
// time from a baseline, grids, and pairs of settings for their interaction,
// every configuration in both orders, with statistics that say which results
// are too noisy to draw conclusions from.
//
// A [Recipe] says what to vary. [Run] measures it through a [Machine], which
// knows how to time one [Setting]; [Analyse] draws the conclusions from the
// samples, and [Compare] sets two results against each other.
package bench
