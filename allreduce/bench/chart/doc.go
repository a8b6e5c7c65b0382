// Package chart draws the results of experiments: bus bandwidth over message
// size with one line per setting, and interactions as a heat map.
package chart
