package main

import (
	"syscall"
	"time"
)

// threadTime is the processor time of the calling thread. The goroutine must be locked
// to it.
func threadTime() time.Duration { return usage(1) } // RUSAGE_THREAD

// processTime is the processor time of the process.
func processTime() time.Duration { return usage(syscall.RUSAGE_SELF) }

func usage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
