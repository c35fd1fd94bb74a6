"""Readers and writers of record formats: JSON instances, the authors' release, recordings."""
