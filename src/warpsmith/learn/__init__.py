"""How models are trained to write programs: rewards from verdicts, rubrics, trajectories, losses, engines.

`rewards` and `rubric` turn a verdict into numbers, `trajectory` holds what a model read and drew, `losses`
are the formulas, `engines` run them, `recipes` are whole configurations, and `toy` is a task to try all of it
on. torch is imported by `losses` and `engines` alone.
"""
