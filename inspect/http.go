package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect/internal/query"
)

// bodyMax is how large the body of a POST may be.
const bodyMax = 64 << 10

// refusal is an error with its HTTP status.
type refusal struct {
	status int
	text   string
	at     int    // the column of a query; 0 for none
	header string // "Name: value", if not empty
}

// Error returns the text for the reader.
func (r *refusal) Error() string { return r.text }

// refusalOf returns the refusal that an error is or causes, or nil.
func refusalOf(err error) *refusal {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		return &refusal{status: http.StatusBadRequest, text: e.Text, at: e.At}
	}
	return nil
}

// refuse makes a refusal.
func refuse(status int, text string) error { return &refusal{status: status, text: text} }

// busy makes a refusal of a request that the client can repeat later.
func busy(status int, text string) error {
	return &refusal{status: status, text: text, header: "Retry-After: 1"}
}

// handler answers a request, or returns an error that says why not.
type handler func(w http.ResponseWriter, r *http.Request) error

// view computes an answer that was asked for, or finds it computed.
type view func(ctx context.Context) ([]byte, error)

// object is an answer that one place writes.
type object map[string]any

// writeJSON answers a request with a value as JSON. The handler has then done its part.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	writeBody(w, status, body)
}

// writeBody answers a request with JSON. If the reader is gone nobody hears of it.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // if it fails, the reader is gone
}

// readBody reads the JSON of a POST into to, a pointer to a struct: one object without unknown
// members. Its errors are refusals for the reader.
func readBody(w http.ResponseWriter, r *http.Request, to any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "the body must be JSON; send Content-Type: application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "the body is larger than 64 KB")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err == nil && !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) { // null would be taken for an empty object
		err = errors.New("it is not an object")
	}
	if err == nil {
		err = d.Decode(to)
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something stands behind the object")
		}
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the body is not the JSON that was expected: "+err.Error())
	}
	return nil
}

// parameters are the parameters of a request. err is for the first wrong one.
//
// Ownership: the goroutine of the request.
type parameters struct {
	url.Values
	err error
}

// parametersOf returns the parameters of a request. Unknown and repeated ones are errors, for the
// caller to return.
func parametersOf(r *http.Request, known ...string) parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := parameters{Values: values}
	if err != nil {
		p.fail("the address has a bad escape or separator: %v", err)
	}
	for name, all := range values {
		if !slices.Contains(known, name) {
			p.fail("there is no parameter %q; there are %s", name, strings.Join(known, ", "))
		} else if len(all) > 1 {
			p.fail("the parameter %s is there twice", name)
		}
	}
	return p
}

// fail keeps the first error.
func (p *parameters) fail(format string, values ...any) {
	if p.err == nil {
		p.err = refuse(http.StatusBadRequest, fmt.Sprintf(format, values...))
	}
}

// wrong returns the refusal of a parameter.
func wrong(parameter string, err error) error {
	return refuse(http.StatusBadRequest, parameter+": "+err.Error())
}

// number returns a whole number from least to most, or otherwise if there is no such parameter. A
// wrong one is in err.
func (p *parameters) number(name string, otherwise, least, most int) int {
	text := p.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		p.fail("%s is %q, want a number from %d to %d", name, text, least, most)
	}
	return n
}

// handle returns a handle, or None if there is no such parameter. A wrong one is in err.
func (p *parameters) handle(name string) handle.Handle {
	text := p.Get(name)
	if text == "" {
		return handle.None
	}
	h, err := handle.Parse(text)
	if err != nil || h == handle.None {
		p.fail("%s is %q, want a handle as 3:1047@5", name, text)
	}
	return h
}
