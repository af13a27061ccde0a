package handle

// TextSizeMax is the length of the longest text form, for the test that
// compares it with that text.
const TextSizeMax = textSizeMax
