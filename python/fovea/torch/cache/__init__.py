"""Caches of traced programs and prepared launches, and the guards that validate them."""
