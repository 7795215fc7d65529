"""What a run gives back: Arrow tables made on demand, pictures, and files.

Knows the pieces that runs produce, not how they were computed.
"""
