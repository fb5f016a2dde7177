"""What the steps of task synthesis left in their folder, as one report: facts, then text, HTML or JSON."""
