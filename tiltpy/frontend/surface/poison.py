"""What is raised instead of an error that has been reported already."""


class Broken(Exception):  # noqa: N818 - it never reaches a user
    """A part was wrong; whoever noticed it first has said so."""


class Exhausted(Broken):
    """It was too deep or too much: nothing else of the same body is looked at."""
