package inspect

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes is a listener of connections within the program.
type pipes struct {
	all  chan net.Conn
	over chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.all:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.over); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestQuietConnections fills the places of the server with connections that send nothing, or half
// of a request, or nothing more after an answer. They end, and another one gets a place.
func TestQuietConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &Inspector{visitor: newVisitor(nil, nil), o: Options{Token: "0123456789abcdef", ConnectionsMax: 3}}
		l := &pipes{make(chan net.Conn, 100), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- x.Serve(t.Context(), l) }()
		const ask = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
		began := time.Now()
		open := func(text string) net.Conn {
			client, server := net.Pipe()
			l.all <- server
			if text != "" {
				go func() { _, _ = client.Write([]byte(text)) }() // or the server has ended
			}
			return client
		}
		answered := func(c net.Conn) {
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, r.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, r.StatusCode)
		}
		idle := []net.Conn{open(ask), open(ask)}
		for _, c := range idle {
			answered(c)
		}
		quiet := []net.Conn{open(""), open(""), open(ask[:20]), open(ask[:len(ask)-2])}
		answered(open(ask)) // a seventh, where there are six places
		require.Equal(t, 5*time.Second, time.Since(began), "it waits for the first that ends")
		ends := func(c net.Conn) {
			_, err := io.Copy(io.Discard, c)
			require.True(t, err == nil || errors.Is(err, io.ErrClosedPipe))
		}
		for _, c := range quiet {
			ends(c)
		}
		require.Equal(t, 5*time.Second, time.Since(began))
		for _, c := range idle {
			ends(c)
		}
		require.Equal(t, time.Minute, time.Since(began))
		x.end()
		require.NoError(t, <-served)
	})
}
