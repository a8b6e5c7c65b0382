package connect

// branch is one node's place in a binary tree over nodes: node indexes, -1 for
// none. second tells that it is its parent's second child; it means nothing at
// the root.
type branch struct {
	up, down0, down1 int
	second           bool
}

// doubleTree gives node r's place in the two trees over n nodes. A node that is
// inner in one is a leaf in the other: the second is the first one mirrored
// (n even) or shifted by one (n odd).
func doubleTree(n, r int) [2]branch {
	move := func(b branch, f func(int) int) branch {
		for _, x := range []*int{&b.up, &b.down0, &b.down1} {
			if *x >= 0 {
				*x = f(*x)
			}
		}
		return b
	}
	first := binaryTree(n, r)
	if n%2 == 1 {
		return [2]branch{first, move(binaryTree(n, (r-1+n)%n), func(x int) int { return (x + 1) % n })}
	}
	return [2]branch{first, move(binaryTree(n, n-1-r), func(x int) int { return n - 1 - x })}
}

// binaryTree gives node r's place in a tree in which the lowest set bit of a
// node's index is its height: odd nodes are leaves, node 0 is the root.
func binaryTree(n, r int) branch {
	bit := 1
	for bit < n && r&bit == 0 {
		bit <<= 1
	}
	if r == 0 {
		b := branch{up: -1, down0: -1, down1: -1}
		if n > 1 {
			b.down1 = bit / 2
		}
		return b
	}
	up := (r ^ bit) | bit<<1
	if up >= n {
		up = r ^ bit
	}
	b := branch{up: up, down0: -1, down1: -1, second: r > up}
	half := bit / 2
	if half == 0 {
		return b
	}
	b.down0 = r - half
	for h := half; h > 0; h /= 2 {
		if r+h < n {
			b.down1 = r + h
			break
		}
	}
	return b
}
