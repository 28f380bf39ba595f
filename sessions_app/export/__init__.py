"""A session with its subagents leaves as one file: streamed, in slices, nothing held open in between."""
