"""The ops ``torch.ops.fovea.*``, and the conversion of their arguments to kernel arguments."""
