package gpu

// group is the other processes of an executor that has one process per GPU.
type group struct{}
