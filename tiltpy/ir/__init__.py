"""The functional IR: what a query means, before it is decided how it is computed."""
