"""How good a policy is on tasks: rollouts that are kept, their figures with intervals, two policies compared.

`attempts` are what is counted, `rollouts` makes and keeps them, `intervals` are the formulas, `standing` is
one policy in figures, `comparison` two.
"""
