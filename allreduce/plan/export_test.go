package plan

import "github.com/ringtopo/ringtopo/allreduce"

// PlanChosen plans float tasks in the order given, as if Ring and Simple had
// been chosen for each, with so many channels at most.
func (p *Planner) PlanChosen(tasks []Task, most []int) ([]*Launch, error) {
	var queue []*job
	for i, t := range tasks {
		queue = append(queue, &job{Task: t, call: i, choice: Choice{Algo: allreduce.Ring, Proto: allreduce.Simple, NChannels: most[min(i, len(most)-1)], Threads: 544}})
	}
	return p.launches(queue)
}

// ExtendedBatches adds two records to a channel that lie too far apart for one
// set, and says which of the batches goes on in the next.
func ExtendedBatches() []bool {
	b := newBatches()
	b.add(0, "f", 0)
	b.add(0, "f", recordsPerSet*recordBytes)
	var extends []bool
	for _, batch := range b.layOut() {
		extends = append(extends, batch.Extends)
	}
	return extends
}
