"""The suite; fixtures are in `conftest.py`."""
