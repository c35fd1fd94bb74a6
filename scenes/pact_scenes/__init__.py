"""Handover scenes: catalogue, USD stages, simulators, observations, source conditions, opinions."""
