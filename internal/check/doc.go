// Package check is the one gate for checks that a release build does without:
// they run under the race detector and under the build tag atollcheck, and cost
// nothing elsewhere.
//
// A check is inside "if check.Enabled", which the compiler takes out of a release build before it
// decides what to inline. State that only a check needs is a field of type [check.Count]…, which
// takes no room in a release build.
package check
