"""The folder that a policy works in: its files, its program, its commands."""
