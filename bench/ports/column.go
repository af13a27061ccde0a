package main

import "github.com/kelindar/column"

// openColumn is a collection of kelindar/column, with a transaction for each
// entity. In batches there is one for a chunk.
func openColumn(s setting) field {
	f := &columnField{all: column.NewCollection(), batch: s.batch}
	for _, name := range []string{"x", "y", "vx", "vy"} {
		must(f.all.CreateColumn(name, column.ForFloat64()))
	}
	must(f.all.Query(func(txn *column.Txn) error {
		for range s.resident {
			if _, err := txn.Insert(setColumns); err != nil {
				return err
			}
		}
		return nil
	}))
	return field{
		worker: func(int) worker { return &columnWorker{f, make([][]uint32, s.places())} },
		begin:  nothing,
		end:    nothing,
		count:  f.all.Count,
	}
}

type columnField struct {
	all   *column.Collection
	batch bool
}

type columnWorker struct {
	*columnField
	rows [][]uint32
}

func setColumns(r column.Row) error {
	r.SetFloat64("x", 1)
	r.SetFloat64("y", 1)
	r.SetFloat64("vx", 1)
	r.SetFloat64("vy", 1)
	return nil
}

func (c *columnWorker) create(place int) {
	dst := c.rows[place][:0]
	if c.batch {
		must(c.all.Query(func(txn *column.Txn) error {
			for range chunkSize {
				row, err := txn.Insert(setColumns)
				if err != nil {
					return err
				}
				dst = append(dst, row)
			}
			return nil
		}))
	} else {
		for range chunkSize {
			row, err := c.all.Insert(setColumns)
			must(err)
			dst = append(dst, row)
		}
	}
	c.rows[place] = dst
}

func (c *columnWorker) destroy(place int) {
	if c.batch {
		must(c.all.Query(func(txn *column.Txn) error {
			for _, row := range c.rows[place] {
				txn.DeleteAt(row)
			}
			return nil
		}))
		return
	}
	for _, row := range c.rows[place] {
		if !c.all.DeleteAt(row) {
			panic("column: nothing to delete")
		}
	}
}
