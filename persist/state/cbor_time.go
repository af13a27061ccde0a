package state

import (
	"fmt"
	"time"
)

// moment is a time.Time that is read back as the same moment with the same offset from UTC. The
// CBOR of time.Time itself cannot have seconds in an offset or years of five digits, and writes the
// zero time as nil.
type moment time.Time

// MarshalCBOR writes text. If that cannot express the year or the offset, it writes seconds since
// 1970, nanoseconds and the offset.
func (m moment) MarshalCBOR() ([]byte, error) {
	t := time.Time(m)
	_, offset := t.Zone()
	const day = 24 * 60 * 60
	if year := t.Year(); year < 0 || year > 9999 || offset <= -day || offset >= day || offset%60 != 0 {
		return cborWriter.Marshal([]int64{t.Unix(), int64(t.Nanosecond()), int64(offset)})
	}
	return cborWriter.Marshal(t.Format(time.RFC3339Nano))
}

// UnmarshalCBOR reads what MarshalCBOR writes.
func (m *moment) UnmarshalCBOR(src []byte) error {
	var parts []int64
	if cborReader.Unmarshal(src, &parts) == nil {
		if len(parts) != 3 || parts[1] < 0 || parts[1] >= int64(time.Second) || int64(int(parts[2])) != parts[2] {
			return fmt.Errorf("%d are no seconds, nanoseconds and offset of a time", parts)
		}
		*m = moment(within(time.Unix(parts[0], parts[1]), int(parts[2])))
		return nil
	}
	var text string
	if err := cborReader.Unmarshal(src, &text); err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err == nil {
		_, offset := t.Zone()
		*m = moment(within(t, offset))
	}
	return err
}

// within returns a time with an offset instead of the zone of this machine.
func within(t time.Time, offset int) time.Time {
	if offset == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone("", offset))
}
