// Package inspector looks at the page of package inspect as an operator does: in a browser, on a
// live world. It needs the package chromium; without it the tests are skipped.
//
//	go test ./proof/inspector
//	go test ./proof/inspector -run Screenshots -docs    the pictures of docs, anew
package inspector
