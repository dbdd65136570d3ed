"""Reports on kernels: explanations, comparisons of variants, and tables for the command line."""

from ._explanation import ComparedField, Explanation, Statement, explain_kernel

__all__ = ["ComparedField", "Explanation", "Statement", "explain_kernel"]
