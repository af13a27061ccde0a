package server

import (
	"net"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
)

// DeathBeforeJoin has a client's teller hear of an avatar's death before it has
// told that it joined.
func DeathBeforeJoin(conn net.Conn, avatar handle.Handle) {
	c := &client{server: &Server{options: Options{}.withDefaults()}, conn: conn}
	c.hear(realm.Reply{Death: true, Who: avatar})
	c.say([]byte("JOINED"))
	c.introduce(avatar)
}
