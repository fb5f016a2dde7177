"""Whose fault it is: ours raises `InfraError`, a user's `UsageError`; a candidate's is its verdict."""


class InfraError(RuntimeError):
    """Something of ours failed. The sample is retried or dropped and counted, never rewarded."""


class EnvironmentMissing(InfraError):
    """This machine lacks something; the message says what, and the exact command that brings it."""


class UsageError(ValueError):
    """The caller asked for something that does not exist; the message names what does."""


class TaskError(UsageError):
    """The task itself cannot be judged; the message says why and what to change in it."""
