"""A corpus of cheats and of honest programs, and what the judge makes of each."""
