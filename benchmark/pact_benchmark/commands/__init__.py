"""The sub-commands of `pact`, one module each."""
