!t = tensor<?x?x?x64xbf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %twice = arith.addf %q, %q : !t
  %o = attn.forward %twice, %k, %v : !t, !t, !t -> !t
  return %o : !t
}
