// Lengths are known where a sequence is.
// RUN: %reject %s

func.func @f() -> index {
  // expected-error @+1 {{is only valid inside a region of an attention op}}
  %n = attn.key_length
  return %n : index
}
