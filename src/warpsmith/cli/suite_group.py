"""A group whose first verb may be left out."""

from typing import Any

from typer.core import TyperGroup

RUN = "run"


class SuiteGroup(TyperGroup):
    """`bench SUITE …` is `bench run SUITE …`: what is no command is a suite."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [RUN, *args]
        return super().parse_args(ctx, args)
