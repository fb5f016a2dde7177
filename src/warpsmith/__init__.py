"""Warpsmith turns a PyTorch module into a CUDA program that is proven correct and measured faster."""

__version__ = "0.1.0"
