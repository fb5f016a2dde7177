"""An agent over a whole suite of tasks: each through the loop and the judge of `warpsmith optimize`."""
