"""`warpsmith train recipes`: the whole configurations that can be named."""

import sys

from rich.table import Table

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode

EXAMPLES = ("warpsmith train recipes", "warpsmith train recipes --json")


def recipes(*, json: options.JsonOption = False) -> ExitCode:
    """List the recipes: what each is for, which verb takes it. --json has all of their settings."""
    from warpsmith.learn.recipes import RECIPES

    console = Console(is_json=json)
    table = Table("recipe", "train …", "steps", "what it is", box=None, pad_edge=False)
    settings = []
    for name, make in RECIPES.items():
        recipe = make()
        about = (sys.modules[make.__module__].__doc__ or "").strip().partition("\n\n")[0]
        table.add_row(name, recipe.verb, str(recipe.stage.loop.steps), " ".join(about.split()))
        settings.append({"name": name, "verb": recipe.verb, "about": about, "settings": recipe})
    console.say(table)
    console.document({"command": "train recipes", "exit_code": 0, "recipes": settings})
    return ExitCode.OK
