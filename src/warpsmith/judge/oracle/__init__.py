"""The program that runs a task's reference. It never loads candidate code, and nobody imports it."""
