"""A kernel engineer made of rules: a small compiler whose parts can be read one by one.

`capture` traces a task's module to a `graph` of few operators (`lowering`). `plan` covers it with groups,
each computed by one of the `recipes`. `program` writes the files. `engineer` tries variants and keeps the
fastest that is right.
"""
