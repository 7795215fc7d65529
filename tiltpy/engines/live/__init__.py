"""Live sessions: rows come by and by, in any order, and results become final.

Passive: nothing happens but in a call, and no module here reads a clock.
"""
