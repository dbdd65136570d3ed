// Panels have the swizzle's widths.
// RUN: %reject %s

// expected-error @+1 {{panels have 16, 32 or 64 columns, found 48}}
func.func private @f(memref<64x96xbf16, #warp.shared<panel = 48>>)
