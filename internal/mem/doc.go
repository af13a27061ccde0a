// Package mem allocates memory for rows and slots, and reads values whose type the compiler does
// not know. It copies nothing and keeps nothing.
package mem
