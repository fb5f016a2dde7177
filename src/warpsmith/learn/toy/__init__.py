"""A task that a tiny model learns in a minute on a CPU: all stages of training, without a judge or a GPU."""
