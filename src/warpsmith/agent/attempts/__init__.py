"""Several trajectories at one task: a budget in common, builds shared, the best of them kept."""
