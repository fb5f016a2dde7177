"""The same recipes on several machines: verl 0.9.1 on Ray.

`keys` has verl's word for each field of a recipe, `overrides` says a recipe in them, `order` adds what
follows from the machines. `rows` puts tasks and samples into verl's tables, and `launch` writes all of it to
a folder and starts it. `plugin` is what verl calls in its own processes, and `acting` what our agent's
episodes look like from there. verl needs an environment of its own (`environment`); but for `plugin`, nothing
here imports it before it is needed.
"""
