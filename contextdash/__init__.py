"""The flight recorder and working memory of a team's coding agents."""

__version__ = "0.1.0"
