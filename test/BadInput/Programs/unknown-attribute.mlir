// An attribute that the dialect lacks.
// RUN: %reject %s

// expected-error @+1 {{unknown attribute `ring` in dialect `attn`}}
func.func private @f() attributes {form = #attn.ring}
