"""Writes each agent's own configuration so that its hooks report here, and takes it back again.

Standard library only: it runs where the agent runs, which need not be where the server runs.
"""
