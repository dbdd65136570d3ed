// A dimension past 64 bits.
// RUN: %reject %s

// expected-error @+1 {{invalid dimension}}
func.func private @f(tensor<1x1x99999999999999999999999x32xbf16>)
