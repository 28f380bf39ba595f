"""The JSON API of sessions and of what agents write down, a module per noun family."""
