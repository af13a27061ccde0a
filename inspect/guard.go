package inspect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/atoll-sim/atoll/inspect/internal/query"
)

// bodyMax is how large the body of a POST may be.
const bodyMax = 64 << 10

// policy is what the page may load: only what is served here, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// refusal is an error with its HTTP status.
type refusal struct {
	status int
	text   string
	at     int    // the column of a query; 0 for none
	header string // "Name: value", if not empty
}

func (e *refusal) Error() string { return e.text }

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

// busy makes a refusal of a request that can be repeated later.
func busy(status int, text string) error {
	return &refusal{status: status, text: text, header: "Retry-After: 1"}
}

// writeError answers with an error.
func (x *Inspector) writeError(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case x.ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errClosed // while the request was served
	case errors.Is(err, context.DeadlineExceeded):
		err = errBusy // it was not computed in time
	}
	e := refusalOf(err)
	if e == nil {
		e = &refusal{status: http.StatusInternalServerError, text: err.Error()}
		x.log(levelFailed, "inspector failed", "path", r.URL.Path, "err", err)
	}
	if name, value, ok := strings.Cut(e.header, ": "); ok {
		w.Header().Set(name, value)
	}
	writeJSON(w, e.status, struct {
		Error string `json:"error"`
		At    int    `json:"at,omitempty"`
	}{e.text, e.at})
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // if it fails, the reader is gone
}

// isLocal reports whether a request comes from this machine: not through a proxy, and not from a
// page under a foreign name that resolves to this machine.
func isLocal(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return isLoopback(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// isLoopback reports whether a host, a name or an address, always means this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// mayAsk returns an error unless a request may be served.
func (x *Inspector) mayAsk(r *http.Request, isPage bool) error {
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	switch {
	case x.o.Token == "" && change:
		return refuse(http.StatusForbidden, "this server has no token, so nothing can be changed; set inspect.Options.Token")
	case x.o.Token == "" && !isLocal(r):
		return refuse(http.StatusForbidden, "this server has no token, so it serves only this machine, as localhost; set inspect.Options.Token")
	case !change && (isPage || isLocal(r)):
		return nil
	}
	if err := x.origins.Check(r); err != nil {
		return refuse(http.StatusForbidden, "the request comes from a page of another site; use the inspector's own")
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(x.o.Token))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return &refusal{
			status: http.StatusUnauthorized, text: `the token is missing or wrong; send "Authorization: Bearer" and inspect.Options.Token`,
			header: `WWW-Authenticate: Bearer realm="atoll"`,
		}
	}
	return nil
}

// readBody reads the JSON of a POST: one object without unknown members. to is a pointer to a
// struct.
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
