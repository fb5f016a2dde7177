"""The formulas, from tensors to numbers. B samples, T tokens, V vocabulary."""
