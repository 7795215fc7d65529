"""The option that sets parameters of a query, of commands and of notebook cells."""

from argparse import ArgumentParser

PARAM = "-p"
EXAMPLE = "w=30s"
"""A value of the option, for its help and for errors."""


def add_param_option(parser: ArgumentParser) -> None:
    """Add the option; its values are texts like `w=30s`, in a list."""
    parser.add_argument(
        PARAM,
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"the value of a parameter, as in {PARAM} {EXAMPLE}; may be given again",
    )
