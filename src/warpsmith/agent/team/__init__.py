"""Several policies at one program: a planner, a coder and a verifier, or a coder and its judge alone."""
