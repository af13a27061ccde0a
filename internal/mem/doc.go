// Package mem takes memory for rows and slots, and looks at values whose type the compiler does
// not know: it copies nothing and keeps nothing.
package mem
