"""What the writer may have meant: advice that goes with an error.

One file for each kind of mistake. Reads surface syntax and raw text, never IR.
"""
