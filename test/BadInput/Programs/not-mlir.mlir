// Text of another language.
// RUN: %reject %s

// expected-error @+1 {{custom op 'import' is unknown}}
import torch
q = torch.randn(2, 4, 64, 32)
