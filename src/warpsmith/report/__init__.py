"""What a run found, told to people: words and tables for a terminal, a README for its folder."""
