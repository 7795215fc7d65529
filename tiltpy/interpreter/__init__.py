"""The oracle: the meaning of a query, evaluated snapshot by snapshot.

Independent of passes, lowering and the runtime, and slow. Tests compare everything
else with it; `evaluate.py` and `keys.py` are the entries.
"""
