package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
)

// number is a flag for a whole number within a range.
type number struct {
	to *int
	in demo.Range
}

func (n number) String() string {
	if n.to == nil {
		return ""
	}
	return strconv.Itoa(*n.to)
}

func (n number) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < n.in.Min || v > n.in.Max {
		return fmt.Errorf("want a whole number from %d to %d", n.in.Min, n.in.Max)
	}
	*n.to = v
	return nil
}

// span is a flag for a time that is not negative.
type span struct{ to *time.Duration }

func (s span) String() string {
	if s.to == nil {
		return ""
	}
	return s.to.String()
}

func (s span) Set(text string) error {
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return errors.New("want a time such as 10s, 1m30s or 0, not negative")
	}
	*s.to = v
	return nil
}

// natural is a flag for a seed.
type natural struct{ to *uint64 }

func (n natural) String() string {
	if n.to == nil {
		return ""
	}
	return strconv.FormatUint(*n.to, 10)
}

func (n natural) Set(text string) error {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return errors.New("want a whole number from 0 to 18446744073709551615")
	}
	*n.to = v
	return nil
}

// secret is a flag for a text that is never shown: the help would tell its default.
type secret struct{ to *string }

func (s secret) String() string { return "" }

func (s secret) Set(text string) error {
	*s.to = text
	return nil
}

// address is a flag for where to listen.
type address struct{ to *string }

func (a address) String() string {
	if a.to == nil {
		return ""
	}
	return *a.to
}

func (a address) Set(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errors.New("want host:port with a port from 0, which is any that is free, to 65535")
	}
	*a.to = text
	return nil
}
