"""Memory between runs: what good runs found, as notes that a person accepts before anybody is told them."""
