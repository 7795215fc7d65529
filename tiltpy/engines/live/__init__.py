"""The engine that is given rows as they come, and promises of time.

It is passive: nothing happens but in the calls of its session, and it reads no clock.
What is final follows from the rows and the promises alone.
"""
