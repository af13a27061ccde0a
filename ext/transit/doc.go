// Package transit lets worlds exchange messages, each delivered once.
package transit
