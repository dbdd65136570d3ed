// Panels have the swizzle's widths.
// RUN: %reject %s

// expected-error @+1 {{rows of a panel must have 32, 64 or 128 bytes, found 96}}
func.func private @f(memref<64x96xbf16, #warp.shared<row_bytes = 96>>)
