package figures

import (
	"slices"
	"strconv"
	"strings"
)

// distinguish makes the values of labels valid UTF-8 and different from each other: Prometheus
// rejects a whole scrape if two figures of a family have the same labels.
func (f *Family) distinguish() {
	if len(f.Labels) == 0 {
		return
	}
	seen := make(map[string]bool, len(f.Figures))
	for i := range f.Figures {
		values := slices.Clone(f.Figures[i].Values)
		for k, v := range values {
			values[k] = strings.ToValidUTF8(v, "\uFFFD")
		}
		last := &values[len(values)-1]
		plain := *last
		for n := 2; seen[strings.Join(values, "\xff")]; n++ {
			*last = plain + " (" + strconv.Itoa(n) + ")"
		}
		seen[strings.Join(values, "\xff")] = true
		f.Figures[i].Values = values
	}
}

// TextType is the content type of AppendText.
const TextType = "text/plain; version=0.0.4; charset=utf-8"

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// AppendText appends families in Prometheus' text format, version 0.0.4. Any goroutine that has the
// families calls it.
func AppendText(dst []byte, families []Family) []byte {
	for i := range families {
		f := &families[i]
		dst = append(dst, "# HELP "+f.Name+" "+escapeHelp.Replace(f.Help)+"\n# TYPE "+f.Name+" "+f.Kind.String()+"\n"...)
		for _, x := range f.Figures {
			dst = f.append(dst, x)
		}
	}
	return dst
}

// append appends one figure of the family as text: one line, or for a histogram one for each
// bucket, the sum and the count.
func (f *Family) append(dst []byte, x Figure) []byte {
	var labels strings.Builder
	for i, name := range f.Labels {
		labels.WriteString(name + `="` + escapeValue.Replace(x.Values[i]) + `",`)
	}
	line := func(suffix, labels, value string) {
		dst = append(dst, f.Name+suffix...)
		if labels = strings.TrimSuffix(labels, ","); labels != "" {
			dst = append(dst, "{"+labels+"}"...)
		}
		dst = append(dst, " "+value+"\n"...)
	}
	if f.Kind != Histogram {
		line("", labels.String(), number(x.Value))
		return dst
	}
	for bound, n := range x.Histogram.Buckets() {
		line("_bucket", labels.String()+`le="`+number(bound.Seconds())+`"`, strconv.FormatUint(n, 10))
	}
	n := strconv.FormatUint(x.Histogram.Count(), 10)
	line("_bucket", labels.String()+`le="+Inf"`, n)
	line("_sum", labels.String(), number(x.Histogram.Sum().Seconds()))
	line("_count", labels.String(), n)
	return dst
}

// number writes a value as Prometheus reads it.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
