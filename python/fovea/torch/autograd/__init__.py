"""``torch.ops.fovea.attention_backward``, and the autograd functions of both ops."""
