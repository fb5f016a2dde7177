"""Runs as event logs: a folder each, from which a run can be read, resumed and forked."""
