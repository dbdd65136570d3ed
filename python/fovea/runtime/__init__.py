"""Loads and launches kernels on a device or the emulator, through libFoveaRuntime."""
