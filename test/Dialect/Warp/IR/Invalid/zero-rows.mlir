// Operands of warp.zero_rows.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @zero_rows_rank(%b: memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>, %n: index) {
  // expected-error@+1 {{buffer must have rank 2, found 'memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>'}}
  warp.zero_rows %b from %n : memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>
  return
}

// -----

func.func @zero_rows_global(%b: memref<16x16xbf16>, %n: index) {
  // expected-error@+1 {{operand #0 must be static memref in shared memory}}
  "warp.zero_rows"(%b, %n) : (memref<16x16xbf16>, index) -> ()
  return
}
