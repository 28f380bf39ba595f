"""The board in the JSON API, with the column names of the older system."""
