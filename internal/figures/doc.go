// Package figures turns the statistics of a world and its scheduler into families of figures, with
// names, units and labels as Prometheus wants them. Package inspect writes them as text, and module
// metrics gives them to a registry.
package figures
