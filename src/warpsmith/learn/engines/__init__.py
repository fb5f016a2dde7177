"""What runs the formulas. `local`: one process, one device."""
