// Package house holds the tests of the project's own order: which package may
// import which, and who may touch the screen.
package house
