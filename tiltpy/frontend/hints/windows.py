"""Hints for the ends of windows."""


def hint_restart(name: str, time: str) -> str:
    """Hint at a condition for a window that restarts."""
    return f"define one, like ~restart[{time}] = ~{name}[{time}] > 0"
