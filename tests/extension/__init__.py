"""Tests of the Isaac Sim extensions."""
