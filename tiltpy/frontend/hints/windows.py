"""Hints for the ends of windows."""


def hint_restart(name: str, time: str) -> str:
    """Hint at a condition for a window that restarts."""
    return f"define one, like ~restart[{time}] = ~{name}[{time}] > 0"


def hint_end(word: str, time: str) -> str:
    """Hint how a word is written that ends windows and looks, or return nothing."""
    match word:
        case "last":
            return f"write ~x[last : {time}] for a look, ~x[last 20 : {time}] for rows"
        case "next":
            return f"write ~x[{time} : next]"
        case "nearest":
            return f"write ~x[nearest {time}]"
        case "prev" | "previous" | "latest" | "asof":
            return f"write ~x[last : <{time}] for the row before"
        case "row":
            return f"write row {time}"
        case "until" | "till":
            return f"a window ends at a time, like {time} or {time} + 10"
        case "cell" | "cells":
            return "write their number, like 1 cell"
        case _:
            return ""
