"""Stages of training in a row, each beginning with what earlier ones wrote.

`parts` are what a row is made of, `course` carries it out part by part, `ground` is where that takes place:
real tasks and judges, or the toy. `separation` shows that no test task is trained on.
"""
