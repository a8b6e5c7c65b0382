package best

// SeedRows are the rows behind a selector.
func SeedRows(s *Selector) []Row { return s.table.Rows }
