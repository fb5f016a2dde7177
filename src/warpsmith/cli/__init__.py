"""The command line: one file a verb."""


def main() -> int:
    """The `warpsmith` command. Gives the exit code."""
    from warpsmith.cli.entry import enter

    return enter()
