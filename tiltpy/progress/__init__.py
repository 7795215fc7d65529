"""The progress of long runs, on terminals and in notebooks, shown after two seconds."""
