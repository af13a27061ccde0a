package aside_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/aside"
)

var errCause = errors.New("cause")

// TestDo calls functions that return, fail, panic and end their goroutine.
func TestDo(t *testing.T) {
	require.NoError(t, aside.Do("it", func() error { return nil }))
	require.Equal(t, errCause, aside.Do("it", func() error { return errCause }))
	err := aside.Do("it", func() error { panic(errCause) })
	require.EqualError(t, err, "it panicked: cause")
	require.ErrorIs(t, err, errCause)
	require.Contains(t, aside.Stack(err)[1], "TestDo")
	err = aside.Do("it", func() error { runtime.Goexit(); return nil })
	require.EqualError(t, err, "it panicked: it called runtime.Goexit, as a test that fails does")
	require.ErrorIs(t, err, aside.ErrGoexit)
	require.Nil(t, aside.Stack(errCause))
}

// TestCaller calls a function again and again.
func TestCaller(t *testing.T) {
	var c aside.Caller
	var do func()
	c.Bind(func() { do() })
	for range 2 {
		do = func() {}
		require.True(t, c.Call())
		do = func() { panic(1) }
		require.False(t, c.Call())
		require.Equal(t, 1, c.Value)
		require.Contains(t, string(c.Stack), "TestCaller")
		do = runtime.Goexit
		require.False(t, c.Call())
		require.Nil(t, c.Value)
		require.Nil(t, c.Stack)
	}
}

// handler is a slog.Handler that fails.
type handler struct {
	slog.Handler
	fail func()
}

func (h handler) Handle(context.Context, slog.Record) error { h.fail(); return nil }

// TestLog reports handlers that fail.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	aside.Out = &out
	defer func() { aside.Out = io.Writer(os.Stderr) }()
	aside.Log(nil, slog.LevelInfo, "nothing")
	text := slog.NewTextHandler(&out, nil)
	aside.Log(slog.New(text), slog.LevelInfo, "hello", "n", 1)
	require.Contains(t, out.String(), "msg=hello n=1")
	out.Reset()
	for _, fail := range []func(){func() { panic(errCause) }, runtime.Goexit} {
		aside.Log(slog.New(handler{text, fail}), slog.LevelInfo, "hello")
	}
	require.Contains(t, out.String(), "atoll: the handler of a Logger panicked: cause stack goroutine")
	require.Contains(t, out.String(), "atoll: the handler of a Logger panicked: it called runtime.Goexit")
}
