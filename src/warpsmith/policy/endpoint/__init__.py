"""What policies behind an address share: connecting, asking until there is an answer, and reading it."""
