package durable_test

import (
	"fmt"
	"hash/crc64"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
)

// TestNewerFormat lets a later release of the library save the newest snapshot: an earlier one stops,
// in Plan and Open, and no option gets round that.
func TestNewerFormat(t *testing.T) {
	for _, increments := range []int{0, 2} {
		path, disk := useDisk(t)
		for range 3 {
			x := newBank(1)
			x.options.Increments = increments
			st, err := x.open(path)
			require.NoError(t, err)
			x.step(t)
			save := make(chan error, 1)
			go func() { save <- st.Save(t.Context()) }()
			for len(save) == 0 {
				x.step(t)
			}
			require.NoError(t, <-save)
			x.step(t)
			require.NoError(t, st.Close())
		}
		found, err := (&snapshot.Dir{Path: path}).Newest()
		require.NoError(t, err)
		name := filepath.Base(found.Path)
		disk.Edit(name, func(b []byte) []byte { b[8]++; return b })
		for _, accept := range []bool{false, true} {
			copied := disk.Clone()
			useAs(t, path, func() files.Files { return copied })
			x := newBank(1)
			x.options.AcceptLoss, x.options.OtherProgram = accept, durable.DiscardOther
			_, err := durable.Plan(path, x.World, x.s, x.options)
			require.ErrorIs(t, err, snapshot.ErrVersion)
			_, err = x.open(path)
			require.ErrorIs(t, err, snapshot.ErrVersion)
			require.NotErrorIs(t, err, durable.ErrDamaged)
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, "start the program that saved it")
		}
	}
}

// TestNewerStatement has a later release write the file incarnation: that is no damage.
func TestNewerStatement(t *testing.T) {
	path, disk := useDisk(t)
	st, err := newBank(1).open(path)
	require.NoError(t, err)
	require.NoError(t, st.Close())
	disk.Edit("incarnation", func([]byte) []byte {
		const text = "atoll-durable-5 and more"
		return fmt.Appendf(nil, "%s %016x\n", text, crc64.Checksum([]byte(text), crc64.MakeTable(crc64.ECMA)))
	})
	x := newBank(1)
	x.options.AcceptLoss = true
	_, err = durable.Plan(path, x.World, x.s, x.options)
	require.ErrorContains(t, err, "another release of this library wrote it")
	_, err = x.open(path)
	require.ErrorContains(t, err, "another release of this library wrote it")
	require.NotErrorIs(t, err, durable.ErrDamaged)
}
