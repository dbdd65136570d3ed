"""The PyTorch front end: traces functions on PyTorch tensors into regions of ``attn.forward``."""
