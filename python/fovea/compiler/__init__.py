"""Compiles programs to kernels, through libFovea."""
