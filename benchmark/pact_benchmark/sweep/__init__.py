"""The sensitivity sweep over settings of the opinion generator: resumable, local or on Ray."""
