// A small kernel, to be launched by test programs.
func.func @small(%q: tensor<?x?x?x32xbf16>, %k: tensor<?x?x?x32xbf16>, %v: tensor<?x?x?x32xbf16>)
    -> tensor<?x?x?x32xbf16> {
  %o = attn.forward %q, %k, %v
    : tensor<?x?x?x32xbf16>, tensor<?x?x?x32xbf16>, tensor<?x?x?x32xbf16> -> tensor<?x?x?x32xbf16>
  return %o : tensor<?x?x?x32xbf16>
}
