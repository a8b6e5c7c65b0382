package best

import "time"

// Selector finds choices for one class of machines.
type Selector struct {
	table  *Table // nil: nothing is known
	origin Origin
}

// For looks a class up: in a file, which may be nil, then among the seeds.
func For(c Class, f *File) *Selector {
	s := &Selector{}
	if f != nil {
		if s.table = f.find(c); s.table != nil {
			s.origin = Origin{Kind: FromTable, Name: f.Name}
			if d := s.table.Trial.Date; !d.IsZero() { // else it was written by hand
				s.origin.Date = d.Format(time.DateOnly)
			}
			return s
		}
	}
	for _, seed := range seeds() {
		if seed.fits(c) {
			s.table, s.origin = &Table{Class: c, Rows: seed.rows}, Origin{Kind: FromSeed, Name: seed.name}
			return s
		}
	}
	return s
}

// Choose gives the choice for a message and where it comes from; ok is false
// where nothing is known of the class, and NCCL's model must do.
func (s *Selector) Choose(bytes int64) (c Choice, from Origin, ok bool) {
	if s.table == nil {
		return Choice{}, Origin{Kind: FromModel}, false
	}
	return s.table.Choose(bytes), s.origin, true
}
