"""How long a program takes: measured by two clocks, or modelled."""
