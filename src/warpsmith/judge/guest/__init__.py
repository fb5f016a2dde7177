"""The program that runs a candidate. It runs inside the sandbox; nobody imports it."""
