"""What limits a program: a ladder of profilers, what they found as figures, and rules over them."""
