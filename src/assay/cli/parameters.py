"""A model's hyper-parameters as options of the command line, read from its table.

Options depend on --model, so the words are looked through for it before they are parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from assay.learner import Learner

DEFAULT_MODELS = ("naive-bayes", "logistic-regression", "linear-regression")
NOT_HERE = ("n_jobs",)


def asked_model(words: list[str]) -> str | None:
    """The value of --model among the words of a command line."""
    for i, word in enumerate(words):
        if word == "--model" and i + 1 < len(words):
            return words[i + 1]
        if word.startswith("--model="):
            return word.partition("=")[2]
    return None


class WithModelOptions(click.Command):
    """A command that also has an option for every hyper-parameter of the model it is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        name = asked_model(args)
        help_alone = name is None and any(word in ("-h", "--help") for word in args)
        own = len(self.params)
        if not help_alone:
            self.params = [*self.params, *model_options(DEFAULT_MODELS if name is None else (name,))]
        try:
            return super().parse_args(ctx, args)
        finally:
            del self.params[own:]


def model_options(names: tuple[str, ...]) -> list[click.Option]:
    """One option a hyper-parameter of these models, which may go by another name."""
    from assay.hypotheses import model_class
    from assay.params import defaults, option_of
    from assay.select.entrants import registered

    options: dict[str, click.Option] = {}
    for model in names:
        cls = model_class(registered(model))
        usual = defaults(cls)
        for name, param in cls.params.items():
            if name not in NOT_HERE and name not in options:
                text = f"{param.doc}: {param.describe()} (default {usual[name]!r})"
                options[name] = click.Option([option_of(name), f"param_{name}"], metavar="VALUE", help=text)
    return list(options.values())


def chosen_params(cls: type[Learner], options: Mapping[str, Any]) -> dict[str, Any]:
    """The hyper-parameters that the options set, parsed by the model's table."""
    from assay.params import option_of

    params: dict[str, Any] = {}
    for option, text in options.items():
        name = option.removeprefix("param_")
        if text is None:
            continue
        if name not in cls.params:
            raise click.UsageError(f"{option_of(name)} is no parameter of {cls.name}, the model for this target.")
        params[name] = cls.params[name].parse(text)
    return params
