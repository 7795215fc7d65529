"""Live queries at work: where rows come from, where results go, and the loop between.

The session itself is passive: it knows no files and reads no clock. `sources` read rows
as they come, `sinks` make results durable, and `run_live` moves the one to the other,
with checkpoints from which it resumes to the same results.
"""
