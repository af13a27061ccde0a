package realm

import "encoding/binary"

// AppendState appends what the islands keep outside of the world and what decides
// what their systems do, for a hash of the state. No tick may be running.
func (r *Realm) AppendState(dst []byte) []byte {
	for i := range r.islands {
		isle := &r.islands[i]
		dst, _ = isle.chance.AppendBinary(dst) // which never fails
		dst, _ = binary.Append(dst, binary.LittleEndian, &isle.ledger)
	}
	return dst
}
