// Package paint turns the SVG that Graphviz writes into PNG, with embedded
// fonts.
//
// It knows the few elements that Graphviz uses and no others: an element or
// attribute it does not know is an error, not a hole in the picture.
// Graphviz's own PNG plugin in go-graphviz fills every open line and loses the
// frames.
package paint
