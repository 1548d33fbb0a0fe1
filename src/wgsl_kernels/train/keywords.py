"""What an optimizer's class says to a keyword that it does not know."""

from __future__ import annotations

from abc import ABCMeta
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.engine.environment.suggestions import advice


class WithKeywords(ABCMeta):
    """The class of optimizers' classes: unknown keywords are an error that says what is meant."""

    if not TYPE_CHECKING:  # checkers know the keywords of each class

        def __call__(cls, *args: Any, **options: Any) -> Any:
            """Make an optimizer.

            Raises:
                ArgumentError: A keyword is unknown.
            """
            known = parameters_of(cls.__init__)
            for name in () if known.any_keyword else options:
                if name not in known.names:
                    names = [one for one in known.names if one != "self"]
                    said = advice("keyword", name, names) or f" Known: {', '.join(names)}."
                    raise ArgumentError(f"{cls.__name__}: unknown keyword {name!r}.{said}")
            return super().__call__(*args, **options)
