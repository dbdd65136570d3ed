// A ring has at least one stage.
// RUN: %reject %s

// expected-error @+1 {{a pipeline must have at least one stage, found 0}}
func.func private @f(!warp.pipeline<0>)
